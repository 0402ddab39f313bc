#ifndef BENCH_SWEEP_STALL_H
#define BENCH_SWEEP_STALL_H
/*
 * A burn-in's moments in which nothing moved: a link that goes down and comes up again, which a
 * mean over hours does not show. Sure is a single operation that took far longer than those around
 * it; a row that took twice its usual time, outside of what is timed, is one when the next row
 * of its size is quick again (what stays slow has sunk: drift.h). Where others had the
 * processors meanwhile, nothing is said.
 */
#include "bench/sweep/sweep.h"

struct story;

enum { STALLS_KEPT = 64 };

struct stall {
	double at_s, seconds; /* the end of its row, after the start; how long */
};

struct stall_usual {  /* of one case */
	double row_s; /* its quickest row, all that belongs to it; 0: none yet */
	struct stall doubt;
};

struct stalls {
	size_t n;
	double total_s, least_s, most_s;
	struct stall kept[STALLS_KEPT], last; /* the first ones */
	double *waited,
		sure_s; /* seconds that others waited for each rank in those that are sure */
};

/* A row that ended at @at_s, @row_s after the one before it. @waited has room for its ranks. */
void stall_look(struct stalls *all, struct stall_usual *u, const struct sweep_row *row, double at_s,
		double row_s);
/* The rank that was waited for meanwhile, -1: nobody stands out. */
int stall_whom(const struct stalls *all, size_t ranks);
/* A finding, where there were any. */
void stall_verdict(const struct story *s);

#endif
