#ifndef BENCH_SWEEP_WITHIN_H
#define BENCH_SWEEP_WITHIN_H
/*
 * --within: a list of sizes fits into a time. What takes long is measured less often, each row
 * for its part of what is left; where the fewest iterations have no room the list ends.
 */
#include "bench/sweep/sweep.h"

/* How often @bytes are measured, the same on all ranks; 0: not at all. @before: the row before it
 * in this list, without a case if there was none. */
int within_iters(struct sweep *s, struct coll_case *c, uint64_t bytes,
		 const struct sweep_row *before, uint64_t *ret, struct err *e) MUST_CHECK;

/* Seconds of --within that this rank has left; below 0: it is over. */
double within_left(const struct sweep *s);

#endif
