#ifndef PROBES_PORT_NFT_H
#define PROBES_PORT_NFT_H
/*
 * What this host's nftables would do with the first packet of a connection, or
 * with the answer to it, worked out from `nft -j list ruleset`. Expressions that cannot be judged
 * from here (marks, limits, uids, matches of iptables modules) count as "perhaps", and so does a
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
	const char *dev;    /* of a chain at a card; NULL: of several, or none */
	int prio;
	size_t first_rule, nrules; /* in nft.rules */
};
struct nft_rule {
	const struct nft_chain *chain;
	const cJSON *expr;
	int handle;
};
struct nft_set {
	const char *family, *table, *name;
	const cJSON *elem;
};
struct nft {
	struct arena *a;
	cJSON *doc;
	LIST(struct nft_chain) chains;
	LIST(struct nft_rule) rules; /* grouped by chain, in order */
	LIST(struct nft_set) sets;   /* maps too */
};
void nft_done(struct nft *n);
/* The document is kept until nft_done(). */
int nft_parse(const char *json, size_t len, struct arena *a, struct nft *ret,
	      struct err *e) MUST_CHECK;

struct nft_packet {
	bool input; /* else output */
	bool udp;
	bool answer;	     /* of a connection whose first packet passed: SYN-ACK */
	union addr from, to; /* with ports; from's may be 0: any high port */
	const char *iface;   /* it comes in or goes out through; NULL: not known */
};
enum nft_verdict { NFT_ACCEPT, NFT_DROP, NFT_REJECT };
struct nft_answer {
	enum nft_verdict verdict;
	bool perhaps;		       /* it hangs on what cannot be judged */
	const struct nft_rule *rule;   /* that decides; NULL: a policy, or nothing */
	const struct nft_chain *chain; /* the rule's, or the policy's; NULL: nothing decides */
};
struct nft_answer nft_judge(const struct nft *n, const struct nft_packet *p);
/*
 * All that stops it: of every base chain what it would do if those before it let it through. How
 * many, at most @max; what only perhaps stops it counts where nothing surely does.
 */
size_t nft_judge_all(const struct nft *n, const struct nft_packet *p, struct nft_answer *ret,
		     size_t max);
/*
 * What comes before all of it, at the card itself, is not judged: the first chain there that may
 * drop what comes in through @iface (NULL: any), or NULL.
 */
const struct nft_chain *nft_unjudged(const struct nft *n, const char *iface);
/* "inet fw in, handle 3: tcp dport 29501 drop", "policy drop of inet fw in" */
const char *nft_describe(const struct nft_answer *x, struct arena *a);
/* Number of rules that drop or reject, and of chains with policy drop, on the hook input. */
size_t nft_strict_input(const struct nft *n);

/* --- between nft*.c --------------------------------------------------------- */
enum truth { NO, YES, PERHAPS };
enum truth nft_match(const struct nft *n, const struct nft_rule *r, const cJSON *match,
		     const struct nft_packet *p);
/* Does what @key stands for have the value @want (a set's element, a vmap's key)? */
enum truth nft_is(const struct nft *n, const struct nft_rule *r, const cJSON *key,
		  const cJSON *want, const struct nft_packet *p);
const struct nft_set *nft_find_set(const struct nft *n, const struct nft_chain *where,
				   const char *name);
const struct nft_chain *nft_find_chain(const struct nft *n, const struct nft_chain *where,
				       const char *name);

#endif
