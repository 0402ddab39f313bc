#ifndef PROBES_IFACE_PROVE_H
#define PROBES_IFACE_PROVE_H
/*
 * For prove.c and its words, prove_say.c: what came of trying every peer from every candidate.
 * All of it lives in the arena of the rules' input.
 */
#include "lib/net/scan.h"
#include "probes/iface/suggest.h"

struct trial { /* one candidate, one peer: the best of the peer's addresses */
	enum tcp_state state;
	int error;
	uint32_t took_us;
	const union addr *to;
	bool has_route;
	bool answered4, answered6; /* an address of either family did */
};

struct proof {
	struct arena *a;
	const struct rules_input *in;
	struct netlink *nl;
	struct peer *peers;
	size_t npeers;
	candidate_list *cands;
	size_t nusable;
	struct trial *trials; /* nusable rows of npeers */
	LIST(struct scan_probe) probes;
	LIST(size_t) owner; /* probe -> trial */
};

static inline struct trial *trial_at(const struct proof *p, size_t cand, size_t peer)
{
	return &p->trials[cand * p->npeers + peer];
}

static inline bool answered(const struct trial *t)
{
	return t->state == TCP_OPEN || t->state == TCP_REFUSED;
}

bool proof_reaches_all(const struct proof *p, size_t cand);
/* How often the trials of @peer ended so. */
size_t proof_count(const struct proof *p, size_t peer, enum tcp_state state);
bool proof_cut_short(const struct proof *p, size_t peer);

/* Of every candidate: is it usable, and why. @winner of no meaning where none @won. */
void proof_explain(struct proof *p, size_t winner, bool won);
/* Findings peer.reach, and route.peer where there is a winner; NULL: there is none. */
void proof_report(struct proof *p, struct report *r, const struct candidate *win, size_t winner);
/* Finding suggest.interface, where every peer answers, if not all of them to one. */
void proof_report_none(struct proof *p, struct report *r);

#endif
