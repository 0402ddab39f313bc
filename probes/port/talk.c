/* The end that asks: some connections at a time in one loop. */
#include "probes/port/talk.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/net/loop.h"
#include "lib/net/wire.h"

#include <errno.h>
#include <linux/tcp.h> /* netinet/tcp.h has an old struct tcp_info */
#include <sys/epoll.h>

enum { BITE = 256 << 10, ANSWER = 8 };
static const unsigned char zeros[BITE];

enum phase { PHASE_FREE, PHASE_CONNECT, PHASE_GREETED, PHASE_BULK, PHASE_COUNT };

struct run;
struct asker {
	struct io io;
	struct timer timer;
	struct run *run;
	struct talk *t;
	enum phase phase;
	uint64_t sent, acked, begun_ns;
	uint64_t acked_before; /* its bulk */
	unsigned char answer[ANSWER];
	size_t answer_n;
};
struct run {
	struct loop loop;
	struct io stop;
	struct asker *v;
	size_t parallel, n, next, busy;
	struct talk *talks;
	uint64_t stall_ns;
	bool stopped;
	struct err e; /* this host could not go on */
};

static void begin_more(struct run *r);

static int look(const struct asker *a, struct tcp_info *ret)
{
	socklen_t len = sizeof(*ret);

	*ret = (struct tcp_info){0};
	return getsockopt(a->io.fd, IPPROTO_TCP, TCP_INFO, ret, &len);
}

/* So long there was something on its way that the other end's kernel had room for: a program that
 * is late to send or to read does not count. Linux 4.10; before, all of it. */
static uint64_t way_of(const struct talk *t, const struct tcp_info *x)
{
	uint64_t busy = x->tcpi_busy_time * 1000, full = x->tcpi_rwnd_limited * 1000;

	return busy && full <= busy && busy - full < t->took_ns ? busy - full : t->took_ns;
}

static void conclude(struct asker *a, enum talk_state state)
{
	struct run *r = a->run;
	struct tcp_info info;

	a->t->state = state;
	a->t->accepted = a->phase > PHASE_CONNECT;
	if (a->begun_ns)
		a->t->took_ns = now_ns() - a->begun_ns;
	if (!look(a, &info) && a->phase > PHASE_CONNECT) {
		a->t->path_mtu = info.tcpi_pmtu;
		a->t->resent = info.tcpi_total_retrans > 0;
		a->t->segments = info.tcpi_segs_out;
		a->t->again = info.tcpi_total_retrans;
		a->t->way_ns = way_of(a->t, &info);
		a->t->rtt_ns = (uint64_t)info.tcpi_min_rtt * 1000;
		a->t->began = a->phase >= PHASE_BULK && info.tcpi_bytes_acked > a->acked_before;
		a->t->heard |= info.tcpi_bytes_acked >= TALK_HELLO;
	}
	loop_del(&r->loop, &a->io);
	loop_disarm(&r->loop, &a->timer);
	(void)close(a->io.fd);
	a->phase = PHASE_FREE;
	r->busy--;
	begin_more(r);
}

static void rearm(struct asker *a)
{
	if (loop_arm(&a->run->loop, &a->timer, a->run->stall_ns, &a->run->e))
		loop_stop(&a->run->loop);
}

static void watch(struct asker *a, uint32_t events)
{
	if (loop_change(&a->run->loop, &a->io, events, &a->run->e))
		loop_stop(&a->run->loop);
}

static bool has_time(const struct asker *a)
{
	return now_ns() - a->begun_ns < a->t->for_ns + TALK_STALLS * a->run->stall_ns;
}

/* What the other end's kernel has taken counts as progress, however slow the way is. */
static void on_stall(struct loop *l, struct timer *t)
{
	struct asker *a = CONTAINER_OF(t, struct asker, timer);
	struct tcp_info info;

	(void)l;
	if (a->phase >= PHASE_BULK && has_time(a) && !look(a, &info) &&
	    info.tcpi_bytes_acked > a->acked) {
		a->acked = info.tcpi_bytes_acked;
		rearm(a);
		return;
	}
	conclude(a, a->phase >= PHASE_BULK ? TALK_STALLED : TALK_UNREACHED);
}

static void greet(struct asker *a)
{
	unsigned char hello[TALK_HELLO];
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(a->io.fd, SOL_SOCKET, SO_ERROR, &error, &len) || error) {
		conclude(a, TALK_UNREACHED);
		return;
	}
	memcpy(hello, talk_magic, TALK_MAGIC);
	memcpy(hello + TALK_MAGIC, a->t->secret, TALK_SECRET);
	if (send(a->io.fd, hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello)) {
		conclude(a, TALK_UNREACHED);
		return;
	}
	a->phase = PHASE_GREETED;
	watch(a, EPOLLIN);
	rearm(a);
}

static void begin_bulk(struct asker *a)
{
	char word;
	struct tcp_info info;
	ssize_t n = recv(a->io.fd, &word, 1, 0);

	if (n != 1 || word) { /* ours says 0 */
		a->t->heard = n >= 0 || errno == ECONNRESET;
		conclude(a, TALK_UNREACHED);
		return;
	}
	a->phase = PHASE_BULK;
	a->begun_ns = now_ns();
	a->acked = a->acked_before = look(a, &info) ? 0 : info.tcpi_bytes_acked;
	watch(a, EPOLLOUT);
	rearm(a);
}

static bool is_all_sent(const struct asker *a)
{
	return a->t->bytes ? a->sent == a->t->bytes : now_ns() - a->begun_ns >= a->t->for_ns;
}

static void send_bulk(struct asker *a)
{
	uint64_t left = a->t->bytes ? a->t->bytes - a->sent : BITE;
	ssize_t n = send(a->io.fd, zeros, left < BITE ? (size_t)left : BITE, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		conclude(a, TALK_STALLED);
		return;
	}
	a->sent += n > 0 ? (size_t)n : 0;
	if (!is_all_sent(a))
		return;
	(void)shutdown(a->io.fd, SHUT_WR);
	a->phase = PHASE_COUNT;
	watch(a, EPOLLIN);
	rearm(a);
}

static void take_count(struct asker *a)
{
	struct wire_in w;
	ssize_t n = recv(a->io.fd, a->answer + a->answer_n, ANSWER - a->answer_n, 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		conclude(a, TALK_STALLED);
		return;
	}
	a->answer_n += (size_t)n;
	if (a->answer_n < ANSWER)
		return;
	w = (struct wire_in){.p = a->answer, .n = ANSWER};
	a->t->arrived = wire_u64(&w);
	conclude(a, a->t->arrived == a->sent ? TALK_DONE : TALK_STALLED);
}

static void on_ready(struct loop *l, struct io *io, uint32_t events)
{
	struct asker *a = CONTAINER_OF(io, struct asker, io);

	(void)l;
	(void)events;
	switch (a->phase) {
	case PHASE_FREE:
		break;
	case PHASE_CONNECT:
		greet(a);
		break;
	case PHASE_GREETED:
		begin_bulk(a);
		break;
	case PHASE_BULK:
		send_bulk(a);
		break;
	case PHASE_COUNT:
		take_count(a);
		break;
	}
}

/* False when not even a try was possible; the talk has its answer then. */
static bool begin(struct asker *a, struct talk *t)
{
	struct run *r = a->run;
	int fd = socket(t->to.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	t->state = TALK_UNREACHED;
	if (fd < 0)
		return false;
	if (t->max_segment)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &t->max_segment,
				 sizeof(t->max_segment));
	if (connect(fd, &t->to.sa, addr_len(&t->to)) && errno != EINPROGRESS) {
		(void)close(fd);
		return false;
	}
	*a = (struct asker){.io = {.fd = fd, .ready = on_ready},
			    .timer.fire = on_stall,
			    .run = r,
			    .t = t,
			    .phase = PHASE_CONNECT};
	t->state = TALK_PENDING;
	r->busy++;
	if (loop_add(&r->loop, &a->io, EPOLLOUT, &r->e))
		loop_stop(&r->loop);
	else
		rearm(a);
	return true;
}

static void begin_more(struct run *r)
{
	for (size_t i = 0; i < r->parallel && r->next < r->n && !r->stopped; i++)
		while (r->v[i].phase == PHASE_FREE && r->next < r->n)
			if (begin(&r->v[i], &r->talks[r->next++]))
				break;
	if (!r->busy)
		loop_stop(&r->loop);
}

static void on_stop(struct loop *l, struct io *io, uint32_t events)
{
	(void)events;
	CONTAINER_OF(io, struct run, stop)->stopped = true;
	loop_stop(l);
}

static void run_done(struct run *r)
{
	for (size_t i = 0; r->v && i < r->parallel; i++)
		if (r->v[i].phase != PHASE_FREE)
			(void)close(r->v[i].io.fd);
	free(r->v);
	loop_done(&r->loop);
}

int talk_run(struct talk *v, size_t n, size_t parallel, uint64_t stall_ns, int stop_fd,
	     struct err *e)
{
	AUTO(run_done)
	struct run r = {.parallel = parallel < n ? parallel : n,
			.n = n,
			.talks = v,
			.stall_ns = stall_ns,
			.loop.epfd = -1,
			.stop = {.fd = stop_fd, .ready = on_stop}};

	if (!n)
		return 0;
	r.v = calloc(r.parallel, sizeof(*r.v));
	if (!r.v)
		return err_set(e, ERR_SYS, "no memory for %zu connections", r.parallel);
	for (size_t i = 0; i < r.parallel; i++)
		r.v[i].run = &r;
	if (loop_init(&r.loop, e) || (stop_fd >= 0 && loop_add(&r.loop, &r.stop, EPOLLIN, e)))
		return -1;
	begin_more(&r);
	if (r.busy && loop_run(&r.loop, e))
		return -1;
	if (r.e.kind != ERR_NONE) {
		*e = r.e;
		return -1;
	}
	return 0;
}
