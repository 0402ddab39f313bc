#ifndef BENCH_COMM_ASYNC_H
#define BENCH_COMM_ASYNC_H
/*
 * A communicator whose calls block (Gloo's, MPI's) as one whose requests move on by
 * themselves: a thread makes it, does one request after the other, and frees it, so
 * that whoever started them can compute meanwhile. Everything that needs "the thread
 * that initialized it" is content, too: that is this one.
 *
 * Deadlines, aborts and sentences are those of the communicator inside.
 */
#include "bench/comm/backend.h"

/* As comm_plugin.comm_new() of @p; @w->exchange() is called from the thread, while we wait. */
struct comm *async_comm_new(const struct comm_plugin *p, const struct comm_world *w, struct dev *d,
			    int *ret_culprit, struct err *e) MUST_CHECK;

#endif
