#ifndef BENCH_REPLAY_DUMPS_H
#define BENCH_REPLAY_DUMPS_H
/* Between dumps.c, dumps_choose.c and dumps_meet.c: the dumps of a training as its ranks' calls. */
#include "bench/replay/order.h"
#include "bench/replay/source.h"

struct ref {			   /* a call of one rank, as it stands in its dump */
	uint32_t group, seq, part; /* of which group's collectives, which one */
	uint32_t dump, entry, event;
};

struct reading {
	const struct flight *f;
	struct traffic *t;
	struct arena *a;
	const struct flight_dump **dumps; /* one of each rank, by rank */
	size_t ndumps;
	bool *is_known;	    /* groups of struct flight: one of these dumps has it */
	uint32_t *group_of; /* of struct traffic, by that of struct flight */
	LIST(struct ref) refs;
	uint32_t *sorted; /* refs, those of one collective together */
	uint32_t *from;	  /* of each dump */
	LIST(struct order_event) events;
	LIST(float) us; /* by event: the shortest, then the mean; below 0: not recorded */
};

/* Of several jobs in one folder the newest that is whole; of each rank the latest. What is left out
 * is noted, and where the rest lies: t->judge. */
void dumps_choose(struct reading *r);
/* Finds what the calls of several ranks were together: events, their kinds and times. */
void dumps_meet(struct reading *r);

/* "send 0->1", "recv 1<-0" */
bool dumps_is_message(const char *op);
/* The type of what went in, or came out. */
const char *dumps_type(const struct reading *r, const struct flight_entry *e);
static inline const struct flight_entry *dumps_entry(const struct reading *r, const struct ref *ref)
{
	return &r->dumps[ref->dump]->entries.v[ref->entry];
}

#endif
