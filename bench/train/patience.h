#ifndef BENCH_TRAIN_PATIENCE_H
#define BENCH_TRAIN_PATIENCE_H
/*
 * All ranks come to a point to which one of them may take far longer than another: nobody is
 * stuck meanwhile. So all wait for the last one with more patience than for any exchange. Who
 * dies or falls silent is known at once all the same.
 */
#include "lib/cluster/rendezvous.h"

struct patience {
	struct rdzv *rdzv;
	const char *point; /* a key: "ddpsmoke.warm" */
	const char *doing; /* "read its data": said of the first that is not there by a deadline */
	uint64_t ns;	   /* of rank 0, besides a deadline; the others have twice as much */
	int rank, size;
};

/* Collective. -1: *ret_late is, at rank 0, who did not come in time; -1: it is something else. */
int patience_wait(const struct patience *p, int *ret_late, struct err *e) MUST_CHECK;

#endif
