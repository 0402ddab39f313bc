#ifndef BENCH_PLUGIN_GUARD_H
#define BENCH_PLUGIN_GUARD_H
/*
 * Calls of libraries that cannot be broken off. One that does not come back is left by a
 * jump, from a signal of the watching thread: watch.h says when, leave.h from where. What it
 * left is not to be touched again.
 *
 *	if (guard_call(&g, bytes, call, arg) != GUARD_BACK)
 *		watch_explain(g.watch, "MPI_Allreduce", e);
 */
#include "bench/plugin/watch.h"

struct guard {
	struct watch *watch; /* NULL: it was not started */
	pthread_t owner;
};
enum guard_end {
	GUARD_BACK,
	GUARD_LEFT,
	GUARD_NOT_BEGUN, /* the watch had gone off before */
};

/* A process has one, for the calls of the thread that starts it. Starts @watch. */
int guard_start(struct guard *g, struct watch *watch, const struct comm_world *w,
		const char *library, struct err *e) MUST_CHECK;
/* @bytes as watch_call() has them. */
enum guard_end guard_call(struct guard *g, uint64_t bytes, void (*call)(void *arg), void *arg);

#endif
