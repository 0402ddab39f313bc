#ifndef BENCH_SWEEP_DRIFT_H
#define BENCH_SWEEP_DRIFT_H
/*
 * Has the bandwidth of a size sunk over a long run? The last fifth of the time is held against the
 * best one: by their medians, by more than a limit, and so that hardly a row of the one is among
 * those of the other. A single slow row, a slow quarter of an hour that is over, or fast first
 * seconds are no drift; nor is what sank while ranks wanted processors and others had them. Pure.
 */
#include "bench/sweep/course.h"

/* Where eight and eight rows differ by chance alone, once in 10,000 times all of one are below. */
enum { DRIFT_LEAST_ROWS = 8 };
enum { DRIFT_SETTLE_S = 3 }; /* what has rested is faster in its first seconds */

enum drift_kind {
	DRIFT_UNKNOWN, /* too few rows */
	DRIFT_NONE,
	DRIFT_BUSY, /* it sank while others had the processors */
	DRIFT_SUNK,
};

struct drift {
	enum drift_kind kind;
	double best, last, share; /* medians, bus bandwidth; what of the best is gone */
	double since_s;		  /* sunk: from then on it was nearer to the last than the best */
};

/* @limit: a share. */
void drift_find(const struct course *c, double limit, struct drift *ret);

#endif
