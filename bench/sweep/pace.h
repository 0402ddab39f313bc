#ifndef BENCH_SWEEP_PACE_H
#define BENCH_SWEEP_PACE_H
/*
 * How much longer a sweep takes. Sizes double, so the last row takes as long as all before it:
 * what counts is how many bytes are still to come, at the speed of the latest row. Pure.
 */
#include "bench/sweep/sweep.h"

struct pace {
	const struct sweep_opts *o;
	double left, latest;	  /* weights: of all rows to come, and of the one that runs */
	uint64_t bytes, begun_ns; /* of that one */
};

/* @rows: of the whole sweep; 0: nobody knows, and nothing is foretold. */
void pace_begin(struct pace *p, const struct sweep_opts *o, uint64_t rows);
/* The next row begins. How long it and all behind it take; 0: not known, or no time. */
uint64_t pace_next(struct pace *p, uint64_t now);

#endif
