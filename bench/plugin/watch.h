#ifndef BENCH_PLUGIN_WATCH_H
#define BENCH_PLUGIN_WATCH_H
/*
 * For libraries whose calls block: a thread beside them that waits for what
 * must end a call early (an abort, Ctrl-C or bad news, the deadline) and then
 * has the plug-in break it off, once. It sleeps while all is well.
 *
 *	watch_call(&w, bytes);
 *	... the library's call ...
 *	watch_over(&w);
 *	if (it failed) watch_explain(&w, "all_reduce", why, e);
 */
#include "bench/plugin/cards.h"

#include <pthread.h>

struct watch {
	void (*fire)(void *arg); /* from the thread, as @grants is */
	void *arg;
	/* Is a call that is over its time to have another deadline? NULL: none is. To be set before
	 * the first call. */
	bool (*grants)(void *arg);
	uint64_t deadline_ns;
	int stop_fds[2], abort_fd, end_fd;
	pthread_t thread;
	bool running;
	uint64_t most_ns; /* the last call's; what was granted comes on top */
	/* atomic */
	const char *abort_reason;
	uint64_t until_ns; /* 0: no call is under way */
	int cause;	   /* enum watch_cause */
};
enum watch_cause { WATCH_NOTHING, WATCH_ABORTED, WATCH_STOPPED, WATCH_DEADLINE };

int watch_start(struct watch *w, const struct comm_world *world, void (*fire)(void *arg), void *arg,
		struct err *e) MUST_CHECK;
void watch_done(struct watch *w);
/* A call that moves @bytes may take the deadline and what they take at 10 MB/s: so long, in ns. */
uint64_t watch_call(struct watch *w, uint64_t bytes);
void watch_over(struct watch *w);
void watch_abort(struct watch *w, const char *reason); /* from anywhere */
enum watch_cause watch_cause(const struct watch *w);
/* "all_reduce was aborted: enough", or, where the thread had no part in it, false. */
bool watch_explain(const struct watch *w, const char *what, struct err *e);

#endif
