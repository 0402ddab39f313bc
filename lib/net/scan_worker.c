#include "lib/net/scan_worker.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <sys/epoll.h>

enum {
	CANARIES = 64, /* in flight while nothing is known of a host */
	BATCH = 128,   /* begun before answers are looked at again */
};
static const uint64_t QUICK_NS = 100 * NS_PER_MS, SLOW_NS = 1200 * NS_PER_MS,
		      TICK_NS = NS_PER_S / 5;

/* Nothing is known of the host yet: a few ports are asked with all patience. */
static bool is_blind(const struct worker *w)
{
	const struct scan *s = w->scan;

	return s->adaptive && !s->attempt && w->at <= CANARIES &&
	       !atomic_load_explicit(&s->rtt_us, memory_order_relaxed);
}

/* How long silence lasts before it is believed, as far as is known now. */
static uint64_t wait_ns(const struct worker *w)
{
	const struct scan *s = w->scan;
	uint64_t rtt = atomic_load_explicit(&s->rtt_us, memory_order_relaxed), ns;

	if (!s->adaptive)
		return s->patience_ns;
	if (!rtt)
		return is_blind(w) ? s->patience_ns : SLOW_NS;
	ns = (rtt + 4 * atomic_load_explicit(&s->spread_us, memory_order_relaxed)) * 1000;
	ns = (ns + QUICK_NS) * (2 + s->attempt) / 2;
	return ns < s->patience_ns ? ns : s->patience_ns;
}

static int window_now(const struct worker *w)
{
	return is_blind(w) && w->window > CANARIES ? CANARIES : w->window;
}

/* What was answered after a second was the kernel's second SYN, or, after three, its third. */
static unsigned without_repeats(unsigned us)
{
	return us >= 3000000 ? us - 3000000 : us >= 1000000 ? us - 1000000 : us;
}

/* Two workers may overwrite each other's estimate: it stays one. */
static void note_answer(struct scan *s, const struct scan_probe *p)
{
	unsigned rtt, spread, off, took = without_repeats(p->took_us);

	if (p->state != TCP_OPEN && p->state != TCP_REFUSED)
		return;
	atomic_fetch_add_explicit(&s->found, 1, memory_order_relaxed);
	rtt = atomic_load_explicit(&s->rtt_us, memory_order_relaxed);
	spread = atomic_load_explicit(&s->spread_us, memory_order_relaxed);
	off = took > rtt ? took - rtt : rtt - took;
	spread = rtt ? spread - spread / 4 + off / 4 : took / 2;
	rtt = rtt ? rtt - rtt / 8 + took / 8 : took;
	atomic_store_explicit(&s->spread_us, spread, memory_order_relaxed);
	atomic_store_explicit(&s->rtt_us, rtt ? rtt : 1, memory_order_relaxed);
}

static void conclude(struct worker *w, struct scan_probe *p, int fd, int error, uint64_t started_ns)
{
	scan_conclude(p, fd, error, started_ns);
	note_answer(w->scan, p);
	if (!w->scan->attempt)
		atomic_fetch_add_explicit(&w->scan->done, 1, memory_order_relaxed);
}

static void slot_release(struct worker *w, int i)
{
	struct slot *s = &w->slots[i];

	(void)close(s->fd); /* which also takes it out of the epoll set */
	*(s->prev < 0 ? &w->oldest : &w->slots[s->prev].next) = s->next;
	*(s->next < 0 ? &w->newest : &w->slots[s->next].prev) = s->prev;
	s->next = w->free;
	w->free = i;
	w->flying--;
}

static int slot_take(struct worker *w, int fd, uint32_t probe, uint64_t started_ns)
{
	struct epoll_event ev = {.events = EPOLLOUT};
	int i = w->free;

	w->free = w->slots[i].next;
	w->slots[i] = (struct slot){fd, probe, started_ns, w->newest, -1};
	*(w->newest < 0 ? &w->oldest : &w->slots[w->newest].next) = i;
	w->newest = i;
	w->flying++;
	ev.data.u32 = (uint32_t)i;
	return epoll_ctl(w->epfd, EPOLL_CTL_ADD, fd, &ev)
		       ? err_sys(&w->e, "cannot watch a connection")
		       : 0;
}

/* A connect to an ephemeral port of this host may meet itself: nobody listens there. */
static bool met_itself(int fd)
{
	union addr peer = {0}, local = {0};
	socklen_t peer_len = sizeof(peer), local_len = sizeof(local);

	return !getpeername(fd, &peer.sa, &peer_len) && !getsockname(fd, &local.sa, &local_len) &&
	       addr_port(&peer) == addr_port(&local) && addr_equal(&peer, &local);
}

static bool out_of_descriptors(int error) { return error == EMFILE || error == ENFILE; }

/* 1: one more was begun (or concluded at once); 0: not now; -1: broken. */
static int begin_one(struct worker *w)
{
	struct scan_probe *p = &w->v[w->todo[w->at]];
	uint64_t started = now_ns();
	int fd, error;

	p->by = (union addr){0};
	fd = scan_socket(p, SOCK_STREAM, w->scan->o);
	if (fd < 0 && out_of_descriptors(errno) && w->flying) {
		w->no_fds = true;
		return 0;
	}
	if (fd < 0) {
		conclude(w, p, -1, errno, started);
	} else {
		/* On a near link the answer is there already, and epoll is not needed. */
		error = scan_error(fd, p);
		if (error) {
			(void)close(fd);
			conclude(w, p, -1, error, started);
		} else if (slot_take(w, fd, w->todo[w->at], started)) {
			return -1;
		}
	}
	w->at++;
	return 1;
}

static int begin_some(struct worker *w)
{
	int limit = window_now(w), rc = 1;

	for (int i = 0; i < BATCH && rc > 0 && w->at < w->n && w->flying < limit && !w->no_fds; i++)
		rc = begin_one(w);
	return rc < 0 ? -1 : 0;
}

static void answered(struct worker *w, int i)
{
	struct slot *s = &w->slots[i];
	struct scan_probe *p = &w->v[s->probe];
	int error = scan_error(s->fd, p);

	if (!error && met_itself(s->fd))
		error = ECONNREFUSED;
	conclude(w, p, s->fd, error, s->started_ns);
	slot_release(w, i);
	w->no_fds = false;
}

static void expire(struct worker *w, uint64_t now)
{
	uint64_t wait = wait_ns(w);

	while (w->oldest >= 0 && w->slots[w->oldest].started_ns + wait <= now) {
		struct slot *s = &w->slots[w->oldest];
		int error = scan_error(s->fd, &w->v[s->probe]);

		conclude(w, &w->v[s->probe], -1, error ? error : ETIMEDOUT, s->started_ns);
		slot_release(w, w->oldest);
		w->no_fds = false;
	}
}

static int pause_ms(const struct worker *w)
{
	uint64_t tick = now_ns() + TICK_NS, end;

	if (w->at < w->n && w->flying < window_now(w) && !w->no_fds)
		return 0;
	if (w->oldest < 0)
		return 0;
	end = w->slots[w->oldest].started_ns + wait_ns(w);
	/* others' answers may shorten the wait; signals */
	return ms_until(end < tick ? end : tick);
}

static void tick(struct worker *w)
{
	struct scan *s = w->scan;
	uint64_t now;

	if (!w->is_main || !s->o->tick)
		return;
	now = now_ns();
	if (now < w->ticked_ns + TICK_NS)
		return;
	w->ticked_ns = now;
	s->o->tick(s->o->arg, atomic_load(&s->done), s->total);
}

static void give_up_rest(struct worker *w)
{
	while (w->oldest >= 0) {
		w->v[w->slots[w->oldest].probe].state = TCP_PENDING;
		slot_release(w, w->oldest);
	}
	for (; w->at < w->n; w->at++)
		w->v[w->todo[w->at]].state = TCP_PENDING;
}

static int look(struct worker *w)
{
	struct epoll_event ev[256];
	uint64_t looked_ns = now_ns();
	int n = epoll_wait(w->epfd, ev, ARRAY_LEN(ev), pause_ms(w));

	if (n < 0 && errno != EINTR)
		return err_sys(&w->e, "cannot wait for connections");
	for (int i = 0; i < n; i++)
		answered(w, (int)ev[i].data.u32);
	/* Answers that still wait to be read, or came since, must not be taken for silence. */
	if (n < (int)ARRAY_LEN(ev))
		expire(w, looked_ns);
	return 0;
}

void *worker_run(void *worker)
{
	struct worker *w = worker;

	while ((w->at < w->n || w->flying) && !interrupt_pending()) {
		if (begin_some(w) || look(w))
			break;
		tick(w);
	}
	give_up_rest(w);
	return NULL;
}

int worker_init(struct worker *w, int window, struct err *e)
{
	w->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (w->epfd < 0)
		return err_sys(e, "cannot make an event loop");
	w->window = (size_t)window < w->n ? window : (int)w->n;
	w->slots = calloc((size_t)w->window + 1, sizeof(*w->slots));
	if (!w->slots)
		return err_set(e, ERR_SYS, "no memory for %d connections", w->window);
	w->oldest = w->newest = -1;
	for (int i = 0; i < w->window; i++)
		w->slots[i].next = i + 1;
	return 0;
}

void worker_done(struct worker *w)
{
	free(w->slots);
	if (w->epfd > 0)
		(void)close(w->epfd);
}
