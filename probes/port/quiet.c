/* Its beginning and end, and the waiting. */
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "probes/port/quiet_line.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define MINUTES(n) (60 * (n))
#define HOURS(n) (3600 * (n))
enum { SPREAD = 32 /* times shorter than the longest by more are not tried */ };

const char quiet_letters[QUIET_STATES + 1] = ".+src";

/* Where people and vendors set timeouts, there is one on each side of them. */
static const unsigned steps_s[] = {1,		2,	     3,		 5,	      10,
				   15,		30,	     MINUTES(1), MINUTES(2),  MINUTES(3),
				   MINUTES(4),	MINUTES(5),  MINUTES(6), MINUTES(10), MINUTES(15),
				   MINUTES(20), MINUTES(30), HOURS(1),	 HOURS(2),    HOURS(4),
				   HOURS(8),	HOURS(12)};

size_t quiet_times(uint64_t longest_ns, uint64_t ret[QUIET_TIMES])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps_s) && n < QUIET_TIMES - 1; i++) {
		uint64_t ns = steps_s[i] * NS_PER_S;

		if (ns < longest_ns && ns >= longest_ns / SPREAD)
			ret[n++] = ns;
	}
	ret[n++] = longest_ns;
	return n;
}

/* ---- beginning and end ---- */
static void on_end(struct loop *l, struct io *io UNUSED, uint32_t events UNUSED) { loop_stop(l); }

static void *keep(void *arg)
{
	struct quiet *q = arg;
	struct err ignored;

	(void)!loop_run(&q->loop, &ignored);
	return NULL;
}

static void quiet_free(struct quiet *q)
{
	listener_close(&q->listener);
	/* each line has a timer, and nothing else has one */
	while (q->loop.nheap)
		quiet_drop(q->loop.heap[0]);
	if (q->end.fd >= 0) {
		loop_del(&q->loop, &q->end);
		(void)close(q->end.fd);
	}
	if (q->news >= 0)
		(void)close(q->news);
	loop_done(&q->loop);
	free((void *)q->said);
	free((void *)q->again);
	free(q->asked_again);
	free(q);
}

static int make_room(struct quiet *q, struct err *e)
{
	const size_t n = q->o.n * 2 * q->o.ntimes;

	q->said = malloc(n);
	q->again = malloc(q->o.n);
	q->asked_again = calloc(q->o.n, sizeof(*q->asked_again));
	if (!q->said || !q->again || !q->asked_again)
		return err_set(e, ERR_SYS, "no memory for what %zu hosts answer", q->o.n);
	for (size_t i = 0; i < n; i++)
		q->said[i] = quiet_letters[QUIET_UNKNOWN];
	for (size_t i = 0; i < q->o.n; i++)
		q->again[i] = quiet_letters[QUIET_UNKNOWN];
	return 0;
}

struct quiet *quiet_open(const struct quiet_opts *o, struct err *e)
{
	struct quiet *q = calloc(1, sizeof(*q));

	if (!q) {
		err_set(e, ERR_SYS, "no memory for silent connections");
		return NULL;
	}
	q->o = *o;
	q->loop.epfd = -1;
	q->end = (struct io){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = on_end};
	q->listener.on_accept = quiet_called;
	q->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	quiet_make_hello(o->secret, q->hello);
	if (loop_init(&q->loop, e) || loop_add(&q->loop, &q->end, EPOLLIN, e) || make_room(q, e) ||
	    listener_open_any(&q->listener, &q->loop, q->o.port, e)) {
		quiet_free(q);
		return NULL;
	}
	return q;
}

int quiet_start(struct quiet *q, struct err *e)
{
	for (size_t k = 1; k < q->o.n; k++) { /* not all at the same one first */
		size_t to = (q->o.me + k) % q->o.n;

		if (q->o.peers[to].to.sa.sa_family)
			quiet_call(q, to);
	}
	q->start_ns = now_ns();
	errno = pthread_create(&q->thread, NULL, keep, q);
	if (errno)
		return err_sys(e, "cannot start a thread");
	q->started = true;
	return 0;
}

void quiet_close(struct quiet *q)
{
	if (!q)
		return;
	if (q->started) {
		(void)!write(q->end.fd, &(uint64_t){1}, sizeof(uint64_t));
		(void)pthread_join(q->thread, NULL);
	}
	quiet_free(q);
}

/* ---- waiting ---- */
static bool is_known(const struct quiet *q, size_t time, uint64_t now)
{
	if (time == QUIET_BEGUN)
		return !q->greeting;
	return now - q->start_ns >= q->o.times_ns[time] && !q->open[time];
}

void quiet_show(uint64_t passed_ns, uint64_t longest_ns)
{
	const uint64_t passed = passed_ns < longest_ns ? passed_ns : longest_ns;
	struct unit_buf left;
	char line[128];

	(void)snprintf(line, sizeof(line), "connections are silent, %s left; second",
		       format_duration(&left, (longest_ns - passed) / NS_PER_S * NS_PER_S));
	log_progress(line, passed / NS_PER_S, longest_ns / NS_PER_S);
}

static uint64_t look_again(const struct quiet *q, size_t time, uint64_t now)
{
	const uint64_t soon = now + NS_PER_S / 2;
	const uint64_t due = time == QUIET_BEGUN ? soon : q->start_ns + q->o.times_ns[time];

	return due > now && due < soon ? due : soon;
}

bool quiet_wait(struct quiet *q, size_t time, int stop_fd)
{
	uint64_t now, ignored;

	while (now = now_ns(), !is_known(q, time, now)) {
		struct pollfd fds[] = {
			{q->news, POLLIN, 0}, {stop_fd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};

		if (interrupt_pending())
			return false;
		if (time != QUIET_BEGUN)
			quiet_show(now - q->start_ns, q->o.times_ns[q->o.ntimes - 1]);
		if (poll(fds, ARRAY_LEN(fds), ms_until(look_again(q, time, now))) <= 0)
			continue;
		if (fds[1].revents)
			return false;
		(void)!read(q->news, &ignored, sizeof(ignored));
	}
	return true;
}

/* ---- what came of it ---- */
const char *quiet_said(const struct quiet *q, size_t peer, bool opened, char *ret)
{
	bool any = false;

	for (size_t i = 0; i < q->o.ntimes; i++) {
		ret[i] = *quiet_at(q, peer, opened, i);
		any |= ret[i] != quiet_letters[QUIET_UNKNOWN];
	}
	ret[any ? q->o.ntimes : 0] = '\0';
	return ret;
}

char quiet_again(const struct quiet *q, size_t peer) { return q->again[peer]; }

uint16_t quiet_port(const struct quiet *q) { return addr_port(&q->listener.at); }

size_t quiet_number(const struct quiet *q) { return q->number; }
