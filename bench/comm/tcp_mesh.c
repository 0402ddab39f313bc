/* Every rank gets to know every other one's address and key, and connects. */
#include "bench/comm/tcp_door.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

enum { REASON_MS = 1500, OPEN_WINDOW = 1 << 20, LOOPED_SEND = 128 << 10 };

struct dial { /* one connection on its way */
	struct io io;
	struct mesh *mesh;
	int peer;
	uint32_t lane;
};

struct mesh {
	struct tcp *t;
	struct tcp_card *cards;
	const char *device; /* as tcp_opts has it */
	struct loop loop;
	struct tcp_door door;
	struct io news[2];
	struct timer timer;
	struct dial *dials;
	size_t missing;		/* connections, ours and theirs */
	bool timed_out, broken; /* broken: of us, and @e says how */
	struct err *e;
	int failed_peer;      /* -1: none */
	bool shut;	      /* it closed its door, which was open when it told us of it */
	struct silence still; /* nobody new is connected */
	uint64_t slept_ns;    /* so long we did not run ourselves, and that was too long */
};

static int break_off(struct mesh *m, const char *what, int error)
{
	const char *fix = tcp_scarce(error);

	errno = error;
	err_sys(m->e, "%s", what);
	if (fix)
		err_hint(m->e, "%s", fix);
	m->broken = true;
	loop_stop(&m->loop);
	return -1;
}

/* --- connecting ------------------------------------------------------------------ */

/*
 * The kernel opens a receiver's window as it sees it read: megabytes later. A low-water
 * mark opens it at once, beyond net.core.rmem_max, and goes again before anybody waits
 * for it. Of what is on its way through memory alone no more than a cache holds is of use.
 */
static void set_buffers(int fd, const struct tcp_peer *peer)
{
	int open = OPEN_WINDOW, none = 1, way = LOOPED_SEND;

	if (!peer->is_looped)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &open, sizeof(open));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &none, sizeof(none));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &way, sizeof(way));
}

/* False: it came twice, so it is not one of ours. */
static bool settle(struct mesh *m, int peer, uint32_t lane, int fd)
{
	struct tcp *t = m->t;
	int one = 1;
	int *place = lane == WORDS_LANE ? &t->peers[peer].words
					: &t->lanes[(size_t)peer * t->nsockets + lane].fd;

	if (*place >= 0) {
		(void)close(fd);
		return false;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (lane != WORDS_LANE)
		set_buffers(fd, &t->peers[peer]);
	*place = fd;
	silence_heard(&m->still, now_ns());
	if (!--m->missing)
		loop_stop(&m->loop);
	return true;
}

static void give_up(struct mesh *m, int peer, int error)
{
	struct tcp_card *c = &m->cards[peer];
	struct addr_text text;
	char what[192];

	(void)snprintf(what, sizeof(what), "cannot connect to rank %d (%s, %s)", peer,
		       c->place.host, addr_print_port(&c->at, &text));
	(void)break_off(m, what, error);
	m->failed_peer = tcp_scarce(error) ? -1 : peer;
	m->shut = error == ECONNREFUSED || error == ECONNRESET || error == EPIPE;
}

/* Our own connection is up, or is not. */
static void on_dialled(struct loop *l, struct io *io, uint32_t events)
{
	struct dial *d = CONTAINER_OF(io, struct dial, io);
	struct mesh *m = d->mesh;
	struct greeting g = {.rank = (uint32_t)m->t->comm.rank, .lane = d->lane};
	int error = 0;
	socklen_t n = sizeof(error);

	(void)events;
	loop_del(l, io);
	memcpy(g.key, m->cards[d->peer].key, sizeof(g.key));
	if (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && !error &&
	    send(io->fd, &g, sizeof(g), MSG_NOSIGNAL) == (ssize_t)sizeof(g)) {
		(void)settle(m, d->peer, d->lane, io->fd);
	} else {
		give_up(m, d->peer, error ? error : errno);
		(void)close(io->fd);
	}
	io->fd = -1;
}

static int dial(struct mesh *m, struct dial *d)
{
	const union addr *to = &m->cards[d->peer].at;
	int fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return break_off(m, "cannot open a socket to another rank", errno);
	d->io = (struct io){.fd = fd, .ready = on_dialled};
	if (tcp_tie(fd, m->device, m->e))
		return -1;
	if (addr_bind_source(fd, &m->cards[m->t->comm.rank].at) ||
	    (connect(fd, &to->sa, addr_len(to)) && errno != EINPROGRESS)) {
		give_up(m, d->peer, errno);
		return -1;
	}
	return loop_add(&m->loop, &d->io, EPOLLOUT, m->e);
}

static bool is_expected(const struct tcp *t, const struct greeting *g)
{
	return g->rank < (uint32_t)t->comm.size && g->rank > (uint32_t)t->comm.rank &&
	       (g->lane < t->nsockets || g->lane == WORDS_LANE);
}

static void let_in(struct tcp_door *d, const struct greeting *g, int fd)
{
	struct mesh *m = CONTAINER_OF(d, struct mesh, door);

	if (!is_expected(m->t, g))
		(void)close(fd);
	else if (settle(m, (int)g->rank, g->lane, fd))
		d->expected--;
}

static void on_door_failed(struct tcp_door *d, const char *what, int error)
{
	(void)break_off(CONTAINER_OF(d, struct mesh, door), what, error);
}

/* --- the whole ---------------------------------------------------------------------- */

static void look(struct loop *l, struct timer *timer)
{
	struct mesh *m = CONTAINER_OF(timer, struct mesh, timer);
	uint64_t wait = tcp_look(m->t, &m->still, &m->slept_ns);

	if (!wait) {
		m->timed_out = true;
		loop_stop(l);
	} else if (loop_arm(l, timer, wait, m->e)) {
		(void)break_off(m, "cannot wait for other ranks", ENOMEM);
	}
}

static int dial_all(struct mesh *m)
{
	struct tcp *t = m->t;
	size_t n = 0, per_peer = t->nsockets + 1;

	m->dials = calloc((size_t)t->comm.rank * per_peer + 1, sizeof(*m->dials));
	if (!m->dials)
		return err_sys(m->e, "cannot connect");
	for (int p = 0; p < t->comm.rank; p++)
		for (size_t i = 0; i < per_peer; i++, n++) {
			m->dials[n] = (struct dial){.mesh = m, .peer = p, .io.fd = -1};
			m->dials[n].lane = i == t->nsockets ? WORDS_LANE : (uint32_t)i;
			if (dial(m, &m->dials[n]))
				return -1;
		}
	return 0;
}

/* The first rank of which something is missing. */
static int missing_peer(const struct tcp *t)
{
	for (int p = 0; p < t->comm.size; p++) {
		if (p == t->comm.rank)
			continue;
		if (t->peers[p].words < 0)
			return p;
		for (size_t i = 0; i < t->nsockets; i++)
			if (t->lanes[(size_t)p * t->nsockets + i].fd < 0)
				return p;
	}
	return -1;
}

static void on_news(struct loop *l, struct io *io UNUSED, uint32_t events UNUSED) { loop_stop(l); }

static int hear_news(struct mesh *m)
{
	for (size_t i = 0; i < ARRAY_LEN(m->news); i++) {
		m->news[i] = (struct io){.fd = m->t->stop_fds[i], .ready = on_news};
		if (m->news[i].fd >= 0 &&
		    m->news[i].fd != interrupt_fd() && /* heard by all loops */
		    loop_add(&m->loop, &m->news[i], EPOLLIN, m->e))
			return -1;
	}
	return 0;
}

static int run_mesh(struct mesh *m)
{
	struct tcp *t = m->t;
	struct unit_buf waited;
	int missing;

	m->missing = (size_t)(t->comm.size - 1) * (t->nsockets + 1);
	m->door.expected = (size_t)(t->comm.size - 1 - t->comm.rank) * (t->nsockets + 1);
	if (!m->missing)
		return 0;
	silence_begin(&m->still, t->deadline_ns, now_ns());
	if (tcp_door_watch(&m->door, &m->loop, m->e) || hear_news(m) || dial_all(m) ||
	    loop_arm(&m->loop, &m->timer, 0, m->e) || loop_run(&m->loop, m->e))
		return -1;
	if (m->broken || !m->missing)
		return m->broken ? -1 : 0;
	if (m->timed_out && m->slept_ns)
		return tcp_fail_asleep(t, m->slept_ns, m->e);
	missing = missing_peer(t);
	if (!m->timed_out) /* who told knows why */
		return err_set(m->e, ERR_SYS, "no connection with rank %d (%s) when told to stop",
			       missing, t->peers[missing].host);
	m->failed_peer = missing;
	return err_set(m->e, ERR_SYS, "no connection with rank %d (%s) within %s", m->failed_peer,
		       t->peers[m->failed_peer].host, format_duration(&waited, t->deadline_ns));
}

/* Who closes a door fails of something: what all are told of that is better than what we saw. */
static bool is_told_why(const struct mesh *m)
{
	struct pollfd news[ARRAY_LEN(m->news)];

	for (size_t i = 0; i < ARRAY_LEN(news); i++)
		news[i] = (struct pollfd){.fd = m->t->stop_fds[i], .events = POLLIN};
	return poll(news, ARRAY_LEN(news), REASON_MS) > 0;
}

static void close_mesh(struct mesh *m)
{
	size_t n = m->dials ? (size_t)m->t->comm.rank * (m->t->nsockets + 1) : 0;

	tcp_door_leave(&m->door);
	for (size_t i = 0; i < n; i++)
		if (m->dials[i].mesh && m->dials[i].io.fd >= 0)
			(void)close(m->dials[i].io.fd);
	free(m->dials);
	loop_done(&m->loop);
}

static int make_lanes(struct tcp *t, struct err *e)
{
	t->nlanes = (size_t)t->comm.size * t->nsockets;
	t->lanes = calloc(t->nlanes, sizeof(*t->lanes));
	t->busy = calloc(t->nlanes, sizeof(*t->busy));
	t->set = calloc(TCP_POLL_FIXED + (size_t)t->comm.size + t->nlanes, sizeof(*t->set));
	for (size_t i = 0; t->lanes && i < t->nlanes; i++) /* first: whoever frees them closes */
		t->lanes[i] = (struct tcp_lane){.fd = -1, .peer = (int)(i / t->nsockets)};
	if (!t->lanes || !t->busy || !t->set)
		return err_sys(e, "cannot connect %d ranks", t->comm.size);
	return 0;
}

static void free_cards(struct tcp_card **cards) { free(*cards); }

int tcp_connect(struct tcp *t, const struct tcp_opts *o, struct err *e)
{
	AUTO(free_cards) struct tcp_card *cards = calloc((size_t)o->size, sizeof(*cards));
	struct mesh m = {.t = t,
			 .cards = cards,
			 .device = o->device,
			 .e = e,
			 .failed_peer = -1,
			 .door = {.let_in = let_in, .failed = on_door_failed},
			 .timer.fire = look};
	AUTO_CLOSE int door = -1;
	struct tcp_card own = {0};
	int result = -1;

	if (!cards)
		return err_sys(e, "cannot connect %d ranks", o->size);
	if (tcp_door_open(o, &door, e) || card_make(o, door, &own, e) ||
	    o->exchange(o->arg, &own, sizeof(own), cards, e))
		return -1;
	cards[o->rank] = own;
	cards_read(t, cards);
	if (make_lanes(t, e) || loop_init(&m.loop, e))
		return -1;
	m.door.io.fd = door;
	m.door.key = cards[o->rank].key;
	result = run_mesh(&m);
	if (m.shut && is_told_why(&m))
		m.failed_peer = -1;
	t->culprit = m.failed_peer;
	close_mesh(&m);
	if (!result)
		cards_describe(t);
	else if (t->culprit >= 0)
		tcp_tell_waited(t, t->culprit);
	return result;
}
