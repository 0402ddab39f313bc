#ifndef PROBES_IFACE_SUGGEST_H
#define PROBES_IFACE_SUGGEST_H
/*
 * The choice of an interface and the settings that make every stack use it.
 * A suggestion is built once and then printed as shell lines, written into
 * files of several kinds, or compared between hosts.
 */
#include "lib/host/rank.h"
#include "probes/rules/rules.h"

struct env_line {
	const char *name, *value;
	const char *comment; /* why, or NULL */
};

/* One TCP answer on which a proof rests. */
struct proof_row {
	const char *peer, *address; /* as named; the address tried, without port */
	const struct iface *iface;  /* sent through this one */
	const char *state;	    /* "open", "refused", "filtered", "unreachable", "error" */
	double ms;
};

struct suggestion {
	struct arena *a;
	struct iface *iface; /* NULL: nothing suitable */
	const struct iface_addr *addr;
	const char *why;
	bool proven;		      /* every peer answered through it */
	const struct iface *unnamed;  /* would come first, but NCCL cannot be told its name */
	bool cut_short;		      /* a signal or the budget ended the proof */
	size_t tried;		      /* candidates that peers were asked through */
	LIST(struct env_line) env;    /* in order of printing; NCCL_SOCKET_IFNAME first */
	str_list left_out;	      /* comments: what was not set, and why */
	candidate_list candidates;    /* all, best first, with reasons */
	LIST(struct proof_row) proof; /* every candidate against every peer's address */
};

/* One peer that must be reachable. */
struct peer {
	const char *given; /* as typed, or the NAME of NAME=ADDR,ADDR */
	const char *host;
	uint16_t port; /* 0: not said */
	addr_list addrs;
};
typedef LIST(struct peer) peer_list;

/* All interfaces as rank_ifaces() has them for the family in NCCL_SOCKET_FAMILY, if any has an
 * address of it; those that NCCL cannot be told moved to the ones that are not usable. Fills
 * candidates and unnamed. */
void suggest_rank(const struct rules_input *in, struct suggestion *s);
/* By rank alone: unproven. Never fails; look at iface. */
void suggest_by_rank(const struct rules_input *in, struct suggestion *ret);
/* Another interface and address instead, the best of this family; none: as it was. */
void suggest_by_family(const struct rules_input *in, int family, struct suggestion *s);
/* What NCCL was told (NCCL_SOCKET_IFNAME, NCCL_COMM_ID) and would publish, instead of what is best.
 * False: it was told nothing, or what leads to no other host: as it was. */
bool suggest_as_told(const struct rules_input *in, struct suggestion *s);
/* By rank from leader_read()'s @ranked, without candidates. False: NCCL cannot be told the first,
 * or was told a family. */
bool suggest_leader(const struct rules_input *in, const candidate_list *ranked,
		    struct suggestion *ret);
/* By proof: every candidate to every peer. Adds findings peer.* to @r. */
struct facts;
int suggest_by_peers(struct facts *f, const peer_list *peers, uint64_t deadline_ns,
		     struct report *r, struct suggestion *ret, struct err *e) MUST_CHECK;
/* Settles on @c and collects every stack's lines. */
void suggest_choose(const struct rules_input *in, const struct candidate *c, struct suggestion *s);
/* True: all that there is to choose is a NAT of this machine's own (lib/host/nat.h), which @f warns
 * of, with what leads out of it. */
bool suggest_warn_of_nat(const struct rules_input *in, const struct suggestion *s,
			 struct finding *f);
/* Beside what was chosen a much faster link may have a link-local address alone: how it becomes a
 * candidate. */
void suggest_remark_linklocal(const struct rules_input *in, const struct suggestion *s,
			      struct report *r);
void suggest_data(const struct suggestion *s, cJSON *data); /* data.suggest */
/* Can it be a line of a suggestion, whoever says so: a variable that a rule sets, and a value of
 * one line? Both may be NULL. */
bool suggest_can_say(const char *name, const char *value);
/* For rules modules. */
void suggest_env(struct suggestion *s, const char *name, const char *comment, const char *fmt, ...)
	PRINTF(4, 5);
void suggest_left_out(struct suggestion *s, const char *fmt, ...) PRINTF(2, 3);

#endif
