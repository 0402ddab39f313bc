#ifndef BENCH_SWEEP_PEERS_LOOK_H
#define BENCH_SWEEP_PEERS_LOOK_H
/*
 * Many that should be alike, each by the best that it had with anybody: what is usual among
 * them, and who stands out. Between bench/sweep/peers_*.c.
 */
#include "bench/sweep/peers.h"

struct peers_look {
	const struct peers *p;
	const struct saved_opts *o;
	struct arena *a;
	double *each;	/* of columns: the most that it had with anybody */
	double usual;	/* the median of those */
	double least;	/* of all values */
	bool are_alike; /* most are near the usual: who is not stands out */
	int measured;	/* of columns */
	int apart;	/* pairs that reach each other in no way */
};

void peers_look(const struct peers *p, const struct saved_opts *o, struct arena *a,
		struct peers_look *ret);
/* "55.2 GB/s, the median of 8 GPUs" */
const char *peers_measured(const struct peers_look *x);
/* What to do where one of that kind is slow. */
const char *peers_fix(enum peers_kind kind);
/* A finding for each who stands out; @test is what it is told of. Of two nobody does. */
void peers_name_slow(const struct peers_look *x, const char *test, struct report *r);

#endif
