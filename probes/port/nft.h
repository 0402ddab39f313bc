#ifndef PROBES_PORT_NFT_H
#define PROBES_PORT_NFT_H
/*
 * What this host's firewall would do with the first packet of a connection, or
 * with the answer to it, worked out from `nft -j list ruleset`, and from what
 * iptables-save prints where rules are iptables'. Expressions that cannot be judged
 * from here (marks, limits, uids, sets of ipset) count as "perhaps", and so does a
 * verdict that hangs on one.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/net/addr.h"

#include <cjson/cJSON.h>

struct nft_chain {
	const char *family, *table, *name;
	const char *hook;   /* NULL: reached by jumps only */
	const char *type;   /* "filter" ... */
	const char *policy; /* "accept" or "drop" */
	const cJSON *devs;  /* of a chain at a card: its name, or a list; NULL: of none */
	const char *tool;   /* "iptables", "ip6tables-legacy" ... whose it is; NULL: nft's own */
	int prio;
	size_t first_rule, nrules; /* in nft.rules */
};
struct nft_rule {
	const struct nft_chain *chain;
	const cJSON *expr;
	int handle;
	const char *text; /* as iptables-save prints it; NULL: nft's own */
};
struct nft_set {
	const char *family, *table, *name;
	const cJSON *elem;
};
struct nft {
	struct arena *a;
	cJSON *doc, *more; /* more: what is not in doc but made of iptables' words */
	bool translates;   /* some rule sends what comes in elsewhere (DNAT) */
	LIST(struct nft_chain) chains;
	LIST(struct nft_rule) rules; /* grouped by chain, in order */
	LIST(struct nft_set) sets;   /* maps too */
	struct {
		size_t *v, cap;
	} by_name; /* chains: nft_names.c */
};
void nft_done(struct nft *n);
/* The document is kept until nft_done(). */
int nft_parse(const char *json, size_t len, struct arena *a, struct nft *ret,
	      struct err *e) MUST_CHECK;
/* Are there rules that nft cannot put into words of its own, because iptables made them? */
bool nft_is_foreign(const struct nft *n);
/*
 * Adds the tables that iptables-save printed. @family: "ip" or "ip6"; @tool: the command that
 * changes them. What nft listed of the same tables goes, unless they are the old kernel tables
 * (@legacy), which nft does not see. iptables.c
 */
void nft_add_iptables(struct nft *n, const char *family, const char *tool, bool legacy,
		      const char *text, size_t len);

struct nft_packet {
	bool input; /* else output */
	bool udp;
	uint8_t icmp6;	     /* instead of TCP or UDP: the type, 135 or 136 of a neighbour's */
	bool answer;	     /* of a connection whose first packet passed: SYN-ACK */
	union addr from, to; /* with ports; from's may be 0: any high port */
	const char *iface;   /* it comes in or goes out through; NULL: not known */
	/* of the place where a rule sees it; set by nft_judge() and its like */
	bool untracked;	 /* before connections are told apart */
	bool translated; /* perhaps it is to go elsewhere */
	bool notrack;	 /* a rule of before keeps its connection from being tracked */
};
enum nft_verdict { NFT_ACCEPT, NFT_DROP, NFT_REJECT };
struct nft_answer {
	enum nft_verdict verdict;
	bool perhaps;		       /* it hangs on what cannot be judged */
	bool seldom;		       /* ... a mark or a list, which most packets are without */
	bool alike;		       /* ... the same for all ports that it would stop */
	const struct nft_rule *rule;   /* that decides; NULL: a policy, or nothing */
	const struct nft_chain *chain; /* the rule's, or the policy's; NULL: nothing decides */
	const struct nft_chain *base;  /* whose hook it passed on its way there */
};
struct nft_answer nft_judge(const struct nft *n, const struct nft_packet *p);
/*
 * All that stops it: of every base chain what it would do if those before it let it through. How
 * many, at most @max; what only perhaps stops it counts where nothing surely does.
 */
size_t nft_judge_all(const struct nft *n, const struct nft_packet *p, struct nft_answer *ret,
		     size_t max);
/*
 * The rule that gives @p, which leaves here, a mark of which @mask is @mark, and so perhaps another
 * way, as far as can be judged; NULL: none does. nft_mark.c
 */
const struct nft_rule *nft_marks(const struct nft *n, const struct nft_packet *p, uint32_t mark,
				 uint32_t mask);
/* Is it of the table that Mullvad's own program writes, and writes anew? */
bool nft_is_mullvads(const struct nft_chain *c);
/* "inet fw in, handle 3: tcp dport 29501 drop", "policy drop of inet fw in", "iptables: -A ..." */
const char *nft_describe(const struct nft_answer *x, struct arena *a);

/* --- between nft*.c --------------------------------------------------------- */
enum truth { NO, YES, PERHAPS };
static inline enum truth truth(bool is) { return is ? YES : NO; }
enum truth nft_match(const struct nft *n, const struct nft_rule *r, const cJSON *match,
		     const struct nft_packet *p);
/* Does what @key stands for have the value @want (a set's element, a vmap's key)? */
enum truth nft_is(const struct nft *n, const struct nft_rule *r, const cJSON *key,
		  const cJSON *want, const struct nft_packet *p);
/* Does @left ask for TCP's flags, or for some of them? Then this judges it. nft_flags.c */
bool nft_is_flags(const cJSON *left);
enum truth nft_match_flags(const cJSON *left, const char *op, const cJSON *right,
			   const struct nft_packet *p);
/* nft_doubt.c: how sure it is that a rule applies. ALIKE: it hangs on what is the same for all that
 * one host asks of another; UNLIKE: it may be by turns, as with a rate, or by the port. */
enum nft_doubt { SURE, ALIKE, UNLIKE };
enum nft_doubt
nft_doubt_of(const cJSON *statement); /* that perhaps applies: a match, a condition */
enum nft_doubt nft_doubt_of_key(const cJSON *key);
/* May the rest of its rule be left out, for what nobody knows: a rate, a module of iptables'? */
bool nft_is_condition(const cJSON *statement);
/* Does it hang on a mark or a list, which most packets are without? */
bool nft_stops_seldom(const struct nft_rule *r);
const struct nft_set *nft_find_set(const struct nft *n, const struct nft_chain *where,
				   const char *name);
/* nft_names.c. A chain is added once; they stay where they are when all of them are there. */
void nft_add_chain(struct nft *n, const struct nft_chain *c);
/* Its place in nft.chains, SIZE_MAX: there is none. */
size_t nft_chain_at(const struct nft *n, const char *tool, const char *family, const char *table,
		    const char *name);
const struct nft_chain *nft_find_chain(const struct nft *n, const struct nft_chain *where,
				       const char *name);
/* Gives the chains from @first on their rules, whatever the order of those; in a chain it stays. */
struct nft_loose {
	size_t chain; /* its place */
	struct nft_rule rule;
};
typedef LIST(struct nft_loose) nft_loose_list;
void nft_group(struct nft *n, size_t first, const nft_loose_list *rules);
/* What one rule of iptables-save says, behind its chain, in nft's words: an array. iptables_rule.c
 */
cJSON *iptables_rule(const struct nft *n, const struct nft_chain *c, const char *words);

#endif
