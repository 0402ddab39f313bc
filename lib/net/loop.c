#include "lib/net/loop.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <sys/epoll.h>

enum { BATCH = 64 };

int loop_init(struct loop *l, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN}; /* no io behind it: the interrupt */
	int fd = interrupt_fd();

	*l = (struct loop){.epfd = epoll_create1(EPOLL_CLOEXEC)};
	if (l->epfd < 0)
		return err_sys(e, "cannot make an event loop");
	if (fd >= 0 && epoll_ctl(l->epfd, EPOLL_CTL_ADD, fd, &ev)) {
		err_sys(e, "cannot watch for signals");
		loop_done(l);
		return -1;
	}
	return 0;
}

void loop_done(struct loop *l)
{
	if (l->epfd > 0)
		(void)close(l->epfd);
	free(l->heap);
	*l = (struct loop){.epfd = -1};
}

/* What was fetched for @io and is not wanted any more must not be handed out. */
static void keep_fetched(struct loop *l, const struct io *io, uint32_t events)
{
	for (int i = 0; i < l->nbatch; i++)
		if (l->batch[i].data.ptr == io)
			l->batch[i].events &= events;
}

int loop_add(struct loop *l, struct io *io, uint32_t events, struct err *e)
{
	struct epoll_event ev = {.events = events, .data.ptr = io};

	if (epoll_ctl(l->epfd, EPOLL_CTL_ADD, io->fd, &ev))
		return err_sys(e, "cannot watch descriptor %d", io->fd);
	l->nio++;
	return 0;
}

int loop_change(struct loop *l, struct io *io, uint32_t events, struct err *e)
{
	struct epoll_event ev = {.events = events, .data.ptr = io};

	if (epoll_ctl(l->epfd, EPOLL_CTL_MOD, io->fd, &ev))
		return err_sys(e, "cannot watch descriptor %d", io->fd);
	keep_fetched(l, io, events | EPOLLERR | EPOLLHUP);
	return 0;
}

void loop_del(struct loop *l, struct io *io)
{
	if (epoll_ctl(l->epfd, EPOLL_CTL_DEL, io->fd, NULL))
		return;
	l->nio--;
	keep_fetched(l, io, 0);
}

static void heap_put(struct loop *l, size_t pos, struct timer *t)
{
	l->heap[pos - 1] = t;
	t->pos = pos;
}

static void sift(struct loop *l, size_t pos)
{
	struct timer *t = l->heap[pos - 1];

	for (; pos > 1 && l->heap[pos / 2 - 1]->at_ns > t->at_ns; pos /= 2)
		heap_put(l, pos, l->heap[pos / 2 - 1]);
	for (size_t kid; (kid = pos * 2) <= l->nheap; pos = kid) {
		if (kid < l->nheap && l->heap[kid]->at_ns < l->heap[kid - 1]->at_ns)
			kid++;
		if (l->heap[kid - 1]->at_ns >= t->at_ns)
			break;
		heap_put(l, pos, l->heap[kid - 1]);
	}
	heap_put(l, pos, t);
}

static int heap_reserve(struct loop *l, struct err *e)
{
	size_t cap = l->cap ? l->cap * 2 : 64;
	struct timer **heap;

	if (l->nheap < l->cap)
		return 0;
	heap = reallocarray(l->heap, cap, sizeof(*heap));
	if (!heap)
		return err_sys(e, "cannot keep %zu deadlines", cap);
	l->heap = heap;
	l->cap = cap;
	return 0;
}

int loop_arm(struct loop *l, struct timer *t, uint64_t delay_ns, struct err *e)
{
	uint64_t now = now_ns();

	loop_disarm(l, t);
	if (heap_reserve(l, e))
		return -1;
	t->at_ns = delay_ns < UINT64_MAX - now ? now + delay_ns : UINT64_MAX;
	heap_put(l, ++l->nheap, t);
	sift(l, l->nheap);
	return 0;
}

void loop_disarm(struct loop *l, struct timer *t)
{
	size_t pos = t->pos;

	if (!pos)
		return;
	t->pos = 0;
	if (pos != l->nheap--) {
		heap_put(l, pos, l->heap[l->nheap]);
		sift(l, pos);
	}
}

void loop_stop(struct loop *l) { l->stopped = true; }

/* Until the first timer: its deadline is over when it is looked at. */
static int wait_ms(const struct loop *l) { return l->nheap ? ms_until(l->heap[0]->at_ns) : -1; }

static void fire_due(struct loop *l, uint64_t now)
{
	while (!l->stopped && l->nheap && l->heap[0]->at_ns <= now) {
		struct timer *t = l->heap[0];

		loop_disarm(l, t);
		t->fire(l, t);
	}
}

/* A callback may have deleted an io further on in the batch: keep_fetched() blanked it. */
static void hand_out(struct loop *l, struct epoll_event *v, int n)
{
	l->batch = v;
	l->nbatch = n;
	for (int i = 0; i < n && !l->stopped; i++) {
		struct io *io = v[i].data.ptr;
		uint32_t events = v[i].events;

		if (!io)
			loop_stop(l);
		else if (events)
			io->ready(l, io, events);
	}
	l->batch = NULL;
	l->nbatch = 0;
}

/* What has come by the time of a deadline is handed out before it, however late we are: only
 * those fire that were due when we looked, and not where there may be more than was fetched. */
int loop_run(struct loop *l, struct err *e)
{
	struct epoll_event v[BATCH];
	size_t full = 0; /* in full batches, one after another; each io is in one of them */

	for (l->stopped = false; !l->stopped && (l->nio || l->nheap) && !interrupt_pending();) {
		uint64_t looked_ns = now_ns();
		int n = epoll_wait(l->epfd, v, BATCH, wait_ms(l));

		if (n < 0 && errno != EINTR)
			return err_sys(e, "cannot wait for events");
		hand_out(l, v, n);
		full = n < BATCH || full > l->nio ? 0 : full + BATCH;
		if (!full)
			fire_due(l, looked_ns);
	}
	return 0;
}
