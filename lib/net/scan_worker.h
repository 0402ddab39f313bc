#ifndef LIB_NET_SCAN_WORKER_H
#define LIB_NET_SCAN_WORKER_H
/*
 * One thread's share of a scan: an epoll set and a window of connects in
 * flight, kept in the order in which they were begun, so that the oldest is
 * the next to be given up.
 */
#include "lib/net/scan.h"

#include <pthread.h>
#include <stdatomic.h>

/* What the workers share. */
struct scan {
	const struct scan_opts *o;
	uint64_t patience_ns;
	bool adaptive;
	unsigned attempt;	       /* 0: the first */
	atomic_uint rtt_us, spread_us; /* smoothed as TCP does it; rtt 0: no answer came yet */
	atomic_size_t done, found;
	size_t total;
};

struct slot {
	int fd;
	uint32_t probe;
	uint64_t started_ns;
	int prev, next; /* in flight: by time; free: next only */
};

struct worker {
	struct scan *scan;
	struct scan_probe *v;
	const uint32_t *todo; /* indices into v */
	size_t n, at;
	struct slot *slots;
	int window, flying, oldest, newest, free, epfd;
	bool is_main, no_fds;
	uint64_t ticked_ns;
	struct err e;
	pthread_t thread;
};

int worker_init(struct worker *w, int window, struct err *e) MUST_CHECK;
void worker_done(struct worker *w);
/* Runs @w->todo; the error, if there was one, is in @w->e. A thread's start routine. */
void *worker_run(void *worker);

#endif
