#ifndef PROBES_PORT_FIREWALL_H
#define PROBES_PORT_FIREWALL_H
/*
 * This host's own firewall: nftables' rules as nft prints them, old iptables
 * tables beside them, and who manages them (ufw, firewalld). Reading needs
 * root; without, it says so, and what can be known without is still there.
 */
#include "probes/port/nft.h"

struct firewall {
	struct nft nft;
	bool known;		 /* the rules were read (there may be none) */
	const char *trouble;	 /* why not, a sentence's end */
	const char *manager;	 /* "ufw", "firewalld", or NULL */
	size_t legacy;		 /* old iptables: rules that drop or reject what comes in */
	const char *legacy_rule; /* the first of them */
};
void firewall_read(struct firewall *fw, struct arena *a, uint64_t deadline_ns);
void firewall_done(struct firewall *fw);
/* iptables-save's text: the rules of INPUT that stop something, policies included. */
void firewall_read_legacy(struct firewall *fw, const char *text, size_t n, struct arena *a);
/* The command that lets @subnet in before @x decides, in the manager's own words. */
const char *firewall_fix(const struct firewall *fw, const struct nft_answer *x, const char *subnet,
			 struct arena *a);

#endif
