#ifndef BENCH_SWEEP_PACE_H
#define BENCH_SWEEP_PACE_H
/*
 * How much longer a sweep takes, and what of it fits into a time. Sizes double, so the last row
 * takes as long as all before it: what counts is how many bytes are still to come, at the speed
 * of the latest row. Pure.
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
/* The part that the row of @bytes has of all that is to come: itself, the sizes behind it, and
 * @lists whole ones. */
double pace_share(const struct sweep_opts *o, uint64_t bytes, uint64_t lists);
/* What an operation takes that is larger by so much. */
double pace_scaled(double once_s, uint64_t from, uint64_t to);
/* How often a row is measured whose operation takes @once_s, so that it has its @share of
 * @left_s: as often as was asked for, or less; a few times, if all that is left has room for
 * these; or 0. */
uint64_t pace_iters(const struct sweep_opts *o, double left_s, double share, double once_s);

#endif
