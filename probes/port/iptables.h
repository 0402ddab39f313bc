#ifndef PROBES_PORT_IPTABLES_H
#define PROBES_PORT_IPTABLES_H
/* One rule of iptables-save while it is put into nft's words: between iptables_rule.c, which has
 * the whole, and iptables_match.c, which has the options of modules. */
#include "probes/port/nft.h"

struct ipt {
	const struct nft *n;
	const struct nft_chain *c;
	cJSON *expr;
	str_list words;
	size_t at;
	bool no;	    /* a "!" stands before the option */
	const char *module; /* "-m", the last one; NULL: none yet */
};
/* The next word, and past it; "" at the end. */
static inline const char *ipt_value(struct ipt *r)
{
	return r->at < r->words.n ? r->words.v[r->at++] : "";
}
/* What can be asked for: {"meta": {"key": "mark"}}, {"payload": {"protocol": ...}} */
cJSON *ipt_key(const char *kind, const char *name);
cJSON *ipt_payload(const char *protocol, const char *field);
/* Takes both over; what stands there of "!" counts. */
void ipt_ask(struct ipt *r, cJSON *left, cJSON *right);
/* A match of some kind, of the module named last. */
void ipt_unknown(struct ipt *r);
/* "--tcp-flags MASK WANTED", "--syn" */
void ipt_ask_flags(struct ipt *r, const char *mask, const char *want);
/* An option of whichever module, its values included. */
void ipt_option(struct ipt *r, const char *opt);

#endif
