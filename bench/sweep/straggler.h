#ifndef BENCH_SWEEP_STRAGGLER_H
#define BENCH_SWEEP_STRAGGLER_H
/*
 * Who holds the others up. While a rank waits it knows for whom; where all trade
 * with all, a rank that is slow (its processor, its card) is the one that all
 * others wait for, and it waits for each of them only a little.
 */
#include "bench/sweep/story.h"

/* Of @row, where it is large enough to tell: adds what each rank was waited for, seconds, and
 * returns how long it took. Else 0. */
double straggler_add(const struct story *s, const struct sweep_row *row, double *seconds);

struct straggler {
	size_t slow, next;
	double share, next_share; /* of the time that they were waited for */
	bool stands_out;
};
/* By each rank's share, as added up over @took seconds. false: nobody can tell. */
bool straggler_find(const struct story *s, const double *shares, double took,
		    struct straggler *ret);

#endif
