#ifndef BENCH_SWEEP_CREW_H
#define BENCH_SWEEP_CREW_H
/*
 * Starts the ranks with lib/cluster/launch.h, from a child process, so that
 * this one can report while they run. Their events come in through @event; the
 * last one, "crew", says how hosts and ranks ended:
 *	{"ev":"crew","code":1,"failure":"...","hosts":[{"name","trouble","fix"}],
 *	 "ranks":[{"host","cause"}]}
 * Then @judge says what the whole run came to, while those who joined wait to be told.
 */
#include "bench/ranks/relay.h"
#include "lib/cluster/launch.h"

struct crew_opts {
	struct launch_opts launch; /* outputs are set here */
	const char *const *mpirun; /* starts the ranks instead, NULL-ended; NULL: we do */
	void (*event)(const cJSON *event, void *arg);
	int (*judge)(void *arg); /* an exit code */
	void *arg;
};

/* Returns when nothing of them is left. -1: they could not be started at all, or @judge has an
 * error of its own, in the same @e. MPI's ranks are left to be judged by the caller, and those that
 * could not be started. */
int crew_run(const struct crew_opts *o, struct err *e) MUST_CHECK;

#endif
