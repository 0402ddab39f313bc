#ifndef BENCH_SWEEP_ALIKE_H
#define BENCH_SWEEP_ALIKE_H
/*
 * Were all ranks asked for the same? Ranks that somebody else starts (mpirun, torchrun,
 * --init by hand) may each have a command line of their own, and collectives of two
 * kinds or sizes would hang, or fail of something that names no option.
 */
#include "bench/sweep/rank.h"

enum { ALIKE_OPTIONS = 31 };
struct alike { /* what one rank was asked for; travels as it is */
	char v[ALIKE_OPTIONS][32];
	uint64_t deadline_ns; /* need not be alike: where many share processors it is longer */
};

void alike_of(const struct rank_opts *o, struct alike *ret);
/* Of the words of all ranks: -1 with a sentence that says which ranks have what. Pure. */
int alike_compare(struct alike *all, const struct rdzv_member *m, int size, struct arena *a,
		  struct err *e) MUST_CHECK;
/* Collective. Of the deadlines all take the longest: else who has the shortest ends the run. */
int alike_check(struct rank *r, struct err *e) MUST_CHECK;

#endif
