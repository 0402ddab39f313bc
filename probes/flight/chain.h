#ifndef PROBES_FLIGHT_CHAIN_H
#define PROBES_FLIGHT_CHAIN_H
/* Between chain.c, which finds what keeps the ranks waiting, and those which say it. */
#include "probes/flight/court.h"

typedef LIST(struct view *) view_list;

/* What ranks wait in, and who is missing there. */
struct knot {
	uint32_t node, group;
	bool is_message;
	const struct flight_entry *sample; /* of one that waits */
	view_list waiting;
	view_list absent;     /* never entered it, and wait for nothing else */
	view_list elsewhere;  /* wait in something else before */
	view_list unbegun;    /* entered it, and their GPU has not begun it */
	view_list lost;	      /* what they did then fell off their buffer */
	rank_list missing;    /* no dump of them */
	size_t over;	      /* completed it */
	size_t begun, unsaid; /* unsaid: their dumps do not tell whether it began */
	/* a message that nobody takes; two that meet, of different sizes */
	const struct flight_entry *unmet, *mine, *theirs;
	const struct view *peer;
};

/* Ranks that wait for each other. */
struct link {
	uint32_t node;
	const struct view *by; /* who does not come there, since he waits in the next */
};
struct ring {
	LIST(struct link) links;
};

void knot_see(struct court *c, uint32_t node, struct knot *ret);
/* Where a rank waits; NOWHERE: it does not. */
uint32_t knot_of(const struct court *c, const struct view *v);
/* --- waited.c --- */
/* All that wait there have waited for moments only when their dumps were written. */
bool knot_is_young(const struct court *c, const struct knot *k);
/* Their files are younger than PyTorch would have written them: how long they waited is not known.
 */
bool knot_is_of_copies(const struct knot *k);
/* How long they waited cannot be said then. */
void tell_copies(struct court *c, struct flight_verdict *v, const struct knot *k);

/* --- tell.c --- */
void tell_knot(struct court *c, struct flight_verdict *v, const struct knot *k);
void tell_ring(struct court *c, struct flight_verdict *v, const struct ring *r);

#endif
