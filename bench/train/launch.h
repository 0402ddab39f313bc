#ifndef BENCH_TRAIN_LAUNCH_H
#define BENCH_TRAIN_LAUNCH_H
/*
 * The process that starts the ranks: rank 0's report becomes ours, and what it
 * could not say (it died, a host was not reached, a rank never came) is added.
 */
#include "lib/cluster/launch.h"
#include "lib/report/report.h"

/* @command: whose report rank 0 writes. @o: without descriptors. @backend: an MPI's
 * mpirun starts its ranks. */
int train_launch(const struct launch_opts *o, const char *backend, const char *command,
		 struct report *r, struct err *e) MUST_CHECK;

#endif
