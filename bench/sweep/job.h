#ifndef BENCH_SWEEP_JOB_H
#define BENCH_SWEEP_JOB_H
/*
 * A whole benchmark. The process that a person started launches the ranks and
 * reports; a rank measures and sends events; under a foreign launcher rank 0
 * does both.
 */
#include "bench/sweep/rank.h"
#include "bench/sweep/story.h"
#include "bench/sweep/verdict.h"

struct job_opts {
	struct rank_opts rank;
	struct story_opts story;
	struct verdict_opts verdict;
	struct launch_opts launch;
	const char *const *mpirun; /* as crew_opts has it */
	struct world_opts world;
	bool ours; /* a rank that we launched: another process reports */
};

int job_run(const struct job_opts *o, struct report *r, struct err *e) MUST_CHECK;

#endif
