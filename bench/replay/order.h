#ifndef BENCH_REPLAY_ORDER_H
#define BENCH_REPLAY_ORDER_H
/*
 * One order of all ranks' collectives in which each rank's own is kept, as far as their
 * recordings allow one. Each collective gets a level, and those of one level share no rank. Pure.
 */
#include "lib/core/arena.h"

struct order_event {
	uint32_t kind, group; /* of struct traffic */
	uint32_t level;
	uint32_t from, n; /* private: where it is called; and how many before it still wait */
	uint32_t waits;
};
struct order {
	const uint32_t *calls; /* events, rank after rank, each in its order */
	const uint32_t *from;  /* of each rank its first, and one more: the end */
	size_t ranks;
	struct order_event *events;
	size_t nevents;
};

/* Fills the levels. Returns how many events are in no order that all ranks agree on: they come
 * behind the others, each at a level of its own. */
size_t order_find(struct order *o, struct arena *a);

#endif
