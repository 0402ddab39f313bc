/* One of these connections, from its greeting to its end. */
#include "probes/port/quiet_line.h"

#include "lib/core/units.h"
#include "lib/net/wire.h"

#include <errno.h>
#include <sodium.h>
#include <sys/epoll.h>

enum { MOST_LINES = 4096, LATE_S = 2 /* the other one began later, or has less of a processor */ };

static const char magic[TALK_MAGIC + 1] = "wskidle\1";
static const uint32_t called_speaks = UINT32_C(1) << 31;

void quiet_make_hello(const unsigned char secret[TALK_SECRET], unsigned char ret[TALK_HELLO])
{
	memcpy(ret, magic, TALK_MAGIC);
	memcpy(ret + TALK_MAGIC, secret, TALK_SECRET);
}

/* The one that is opened where another has died. */
static bool is_new(const struct quiet_line *l) { return l->time == l->q->o.ntimes; }

/* ---- how it ends ---- */
static void put_letter(struct quiet_line *l, enum quiet_state state)
{
	struct quiet *q = l->q;

	if (is_new(l) && l->opened)
		q->again[l->peer] = quiet_letters[state];
	else if (!is_new(l) && l->speaks)
		*quiet_at(q, l->peer, l->opened, l->time) = quiet_letters[state];
}

static void line_free(struct quiet_line *l)
{
	loop_del(&l->q->loop, &l->io);
	loop_disarm(&l->q->loop, &l->timer);
	(void)close(l->io.fd);
	l->q->lines--;
	free(l);
}

void quiet_drop(struct timer *t) { line_free(CONTAINER_OF(t, struct quiet_line, timer)); }

/* Who waits looks again. */
static void count_down(struct quiet *q, _Atomic unsigned *n)
{
	if (--*n == 0)
		(void)!write(q->news, &(uint64_t){1}, sizeof(uint64_t));
}

static struct quiet_line *line_open(struct quiet *q, size_t peer, size_t time, bool speaks);

/* Is the way itself gone? Once for each peer; it belongs to the time of the line that died. */
static void ask_again(struct quiet_line *l)
{
	struct quiet *q = l->q;
	struct quiet_line *again;

	if (!l->opened || is_new(l) || q->asked_again[l->peer])
		return;
	q->asked_again[l->peer] = true;
	again = line_open(q, l->peer, q->o.ntimes, true);
	if (!again)
		return;
	again->counts_for = l->time;
	q->open[l->time]++;
}

static void line_end(struct quiet_line *l, enum quiet_state state)
{
	struct quiet *q = l->q;
	const size_t counts_for = l->counts_for;
	const bool greeting = l->opened && l->phase < QUIET_IS_SILENT;

	if (l->phase < QUIET_IS_SILENT && !is_new(l)) /* what never was has not died */
		state = QUIET_UNKNOWN;
	put_letter(l, state);
	if (quiet_is_dead(quiet_letters[state]))
		ask_again(l);
	line_free(l);
	if (greeting && counts_for == QUIET_BEGUN)
		count_down(q, &q->greeting);
	else if (counts_for != QUIET_BEGUN)
		count_down(q, &q->open[counts_for]);
}

static void arm(struct quiet_line *l, uint64_t ns)
{
	struct err ignored;

	/* it has a timer from its beginning, so that moving it needs no memory */
	(void)!loop_arm(&l->q->loop, &l->timer, ns, &ignored);
}

/* ---- its life ---- */
static uint64_t time_of(const struct quiet_line *l)
{
	return is_new(l) ? 0 : l->q->o.times_ns[l->time];
}

static void count(struct quiet_line *l)
{
	l->counts_for = l->time;
	l->q->open[l->time]++;
}

static void fall_silent(struct quiet_line *l)
{
	struct quiet *q = l->q;

	if (!is_new(l) && l->opened) {
		count(l);
		count_down(q, &q->greeting);
	}
	l->phase = QUIET_IS_SILENT;
	arm(l, time_of(l) + (l->speaks ? 0 : q->o.patience_ns + LATE_S * NS_PER_S));
}

static bool say(struct quiet_line *l) { return send(l->io.fd, "", 1, MSG_NOSIGNAL) == 1; }

static enum quiet_state why_not(int error)
{
	return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ? QUIET_SILENT
										   : QUIET_RESET;
}

static void on_time(struct loop *loop UNUSED, struct timer *t)
{
	struct quiet_line *l = CONTAINER_OF(t, struct quiet_line, timer);

	if (l->phase != QUIET_IS_SILENT || !l->speaks) {
		line_end(l, QUIET_SILENT);
		return;
	}
	if (!say(l)) {
		line_end(l, why_not(errno));
		return;
	}
	l->phase = QUIET_HAS_SPOKEN;
	arm(l, l->q->o.patience_ns);
}

static void greet(struct quiet_line *l)
{
	struct quiet *q = l->q;
	unsigned char hello[QUIET_HELLO];
	struct wire_out w = {.p = hello + TALK_HELLO, .cap = QUIET_HELLO - TALK_HELLO};
	struct err ignored;
	int error = 0;
	socklen_t len = sizeof(error);

	quiet_make_hello(q->o.peers[l->peer].secret, hello);
	wire_put_u32(&w, (uint32_t)q->o.me);
	wire_put_u32(&w, (uint32_t)l->time | (l->speaks ? 0 : called_speaks));
	if (getsockopt(l->io.fd, SOL_SOCKET, SO_ERROR, &error, &len) || error ||
	    send(l->io.fd, hello, sizeof(hello), MSG_NOSIGNAL) != (ssize_t)sizeof(hello) ||
	    loop_change(&q->loop, &l->io, EPOLLIN, &ignored)) {
		line_end(l, why_not(error));
		return;
	}
	l->phase = QUIET_IS_GREETED;
	arm(l, q->o.patience_ns);
}

/* False: not ours, or gone. */
static bool take_hello(struct quiet_line *l)
{
	struct quiet *q = l->q;
	ssize_t n = recv(l->io.fd, l->hello + l->hello_n, QUIET_HELLO - l->hello_n, 0);
	struct wire_in w = {.p = l->hello + TALK_HELLO, .n = QUIET_HELLO - TALK_HELLO};
	uint32_t peer, time;

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0)
		return false;
	l->hello_n += (size_t)n;
	if (l->hello_n < QUIET_HELLO)
		return true;
	peer = wire_u32(&w);
	time = wire_u32(&w);
	l->speaks = time & called_speaks;
	time &= ~called_speaks;
	if (sodium_memcmp(l->hello, q->hello, TALK_HELLO) || peer >= q->o.n || time > q->o.ntimes)
		return false;
	l->peer = peer;
	l->time = time;
	if (!is_new(l))
		count(l); /* before it is answered: who opened it counts on that */
	l->phase = QUIET_IS_ANSWERED;
	arm(l, q->o.patience_ns);
	return say(l);
}

static void take_word(struct quiet_line *l)
{
	char word;
	ssize_t n = recv(l->io.fd, &word, 1, 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n == 0)
		line_end(l, QUIET_CLOSED);
	else if (n < 0)
		line_end(l, why_not(errno));
	else if (word)
		line_end(l, QUIET_UNKNOWN);
	else if (l->phase == QUIET_IS_ANSWERED || (l->phase == QUIET_IS_GREETED && say(l)))
		fall_silent(l);
	else if (l->phase == QUIET_HAS_SPOKEN)
		line_end(l, QUIET_ALIVE);
	else /* it was spoken to */
		line_end(l, !l->speaks && say(l) ? QUIET_ALIVE : QUIET_UNKNOWN);
}

static void on_ready(struct loop *loop UNUSED, struct io *io, uint32_t events UNUSED)
{
	struct quiet_line *l = CONTAINER_OF(io, struct quiet_line, io);

	if (l->phase == QUIET_CONNECTS)
		greet(l);
	else if (l->phase == QUIET_IS_CALLED && !take_hello(l))
		line_end(l, QUIET_UNKNOWN);
	else if (l->phase > QUIET_IS_CALLED)
		take_word(l);
}

/* Takes over @fd, also where there is no room for it. */
static struct quiet_line *line_new(struct quiet *q, int fd, uint32_t events)
{
	struct quiet_line *l = q->lines < MOST_LINES ? calloc(1, sizeof(*l)) : NULL;
	struct err ignored;

	if (!l) {
		(void)close(fd);
		return NULL;
	}
	l->q = q;
	l->io = (struct io){.fd = fd, .ready = on_ready};
	l->timer.fire = on_time;
	l->counts_for = QUIET_BEGUN;
	q->lines++;
	if (loop_add(&q->loop, &l->io, events, &ignored) ||
	    loop_arm(&q->loop, &l->timer, q->o.patience_ns, &ignored)) {
		line_free(l);
		return NULL;
	}
	return l;
}

static struct quiet_line *line_open(struct quiet *q, size_t peer, size_t time, bool speaks)
{
	const union addr *to = &q->o.peers[peer].to;
	int fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct quiet_line *l;

	if (fd < 0)
		return NULL;
	if (connect(fd, &to->sa, addr_len(to)) && errno != EINPROGRESS) {
		(void)close(fd);
		return NULL;
	}
	l = line_new(q, fd, EPOLLOUT);
	if (!l)
		return NULL;
	l->phase = QUIET_CONNECTS;
	l->peer = peer;
	l->time = time;
	l->opened = true;
	l->speaks = speaks;
	return l;
}

void quiet_call(struct quiet *q, size_t peer)
{
	for (size_t i = 0; i < 2 * q->o.ntimes; i++)
		if (line_open(q, peer, i / 2, i % 2)) {
			q->greeting++;
			q->number++;
		}
}

void quiet_called(struct listener *s, int fd, const union addr *from UNUSED)
{
	struct quiet_line *l = line_new(CONTAINER_OF(s, struct quiet, listener), fd, EPOLLIN);

	if (l)
		l->phase = QUIET_IS_CALLED;
}
