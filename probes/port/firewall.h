#ifndef PROBES_PORT_FIREWALL_H
#define PROBES_PORT_FIREWALL_H
/*
 * This host's own firewall: nftables' rules as nft prints them, those of
 * iptables (today's and the old kernel tables) as iptables-save does, and who
 * manages them (ufw, firewalld). Reading needs root; without, it says so, and
 * what can be known without is still there.
 */
#include "probes/port/nft.h"

#define FIREWALL_LIST "sudo nft list ruleset" /* that is everywhere, and names no rule */

struct firewall {
	struct nft nft;
	bool known;	     /* the rules were read (there may be none) */
	const char *trouble; /* why not, a sentence's end */
	const char *unread;  /* known, but for a part: which, and why; or NULL */
	const char *manager; /* "ufw", "firewalld", or NULL */
};
/* A program that does not answer within the deadline is asked once more. */
void firewall_read(struct firewall *fw, struct arena *a, uint64_t deadline_ns);
void firewall_done(struct firewall *fw);
/* The command that lets @subnet pass before @x decides, in the words of whose rule it is.
 * firewall_fix.c */
const char *firewall_fix(const struct firewall *fw, const struct nft_answer *x, const char *subnet,
			 struct arena *a);
/* The same for what this host sends to itself over lo. */
const char *firewall_fix_loopback(const struct firewall *fw, const struct nft_answer *x,
				  struct arena *a);
/* The same for ICMPv6, from wherever. */
const char *firewall_fix_neighbours(const struct firewall *fw, const struct nft_answer *x,
				    struct arena *a);
/* Whatever manages it, where no rule is known: the line, or NULL when nobody does. */
const char *firewall_fix_blind(const struct firewall *fw, const char *subnet, struct arena *a);
/*
 * What this host's rules do with what it sends to itself: true when they stop it. Its first
 * packet and the answer pass the same chains.
 */
bool firewall_stops_loopback(const struct firewall *fw, struct nft_answer *ret);

#endif
