#ifndef LIB_NET_LOOP_H
#define LIB_NET_LOOP_H
/*
 * One thread, one epoll set, one heap of deadlines. The caller owns every
 * io and timer and embeds them in its own struct; the loop only links them.
 * loop_run() returns 0 when nothing is left to wait for, after loop_stop(),
 * or when a signal was caught (ask interrupt_pending(), lib/core/interrupt.h).
 * What is ready when a deadline passes is told before that fires, also where we come late.
 * Callbacks may delete any io and disarm any timer, their own included, and
 * free what embeds them. They must not call loop_run() again.
 */
#include "lib/core/err.h"

struct loop;
struct epoll_event;

struct io {
	int fd;
	void (*ready)(struct loop *l, struct io *io, uint32_t events);
};

struct timer {
	uint64_t at_ns;
	size_t pos; /* 1-based heap position, 0 when not armed */
	void (*fire)(struct loop *l, struct timer *t);
};

struct loop {
	int epfd;
	size_t nio;
	struct timer **heap;
	size_t nheap, cap;
	bool stopped;
	struct epoll_event *batch; /* fetched, not yet handed out */
	int nbatch;
};

int loop_init(struct loop *l, struct err *e) MUST_CHECK;
void loop_done(struct loop *l); /* a zeroed loop is fine */
int loop_add(struct loop *l, struct io *io, uint32_t events, struct err *e) MUST_CHECK;
int loop_change(struct loop *l, struct io *io, uint32_t events, struct err *e) MUST_CHECK;
void loop_del(struct loop *l, struct io *io); /* no-op when not added; call it before close() */
/* Armed already: moved to the new time. */
int loop_arm(struct loop *l, struct timer *t, uint64_t delay_ns, struct err *e) MUST_CHECK;
void loop_disarm(struct loop *l, struct timer *t);
void loop_stop(struct loop *l);
int loop_run(struct loop *l, struct err *e) MUST_CHECK;

#endif
