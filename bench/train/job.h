#ifndef BENCH_TRAIN_JOB_H
#define BENCH_TRAIN_JOB_H
/*
 * What one rank of ddpsmoke does, from the communicator to what it says. Rank 0
 * says everything; the others only that they were there, or what they know
 * about a rank that was lost, for their exit codes.
 */
#include "bench/train/train.h"
#include "lib/cluster/launch.h"
#include "lib/report/report.h"

/* Progress: what is done, and how much of it. */
typedef void train_tell(const char *what, uint64_t done, uint64_t total);
/*
 * @o->np is set from the world. @tell: in rank 0; may be NULL. A rank that
 * was lost is a finding and not an error; *ret_lost is the sentence for the others then.
 */
int train_job(struct train_opts *o, struct world_run *w, train_tell *tell, struct report *r,
	      const char **ret_lost, struct err *e) MUST_CHECK;

#endif
