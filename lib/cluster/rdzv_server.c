#include "lib/cluster/rdzv_core.h"
#include "lib/core/units.h"

#include <sys/queue.h>

enum {
	PROOF_S = 10, /* from a connection to its JOIN; its proof is on the way there */
	LINGER_S = 2,
	STRANGERS = 512, /* connections beyond the declared world that may be on their way */
};

TAILQ_HEAD(conns, conn);
struct conn {
	struct rdzv_peer peer;
	struct channel channel;
	struct rdzv_server *server;
	uint64_t since_ns;
	bool expected; /* in server->expected: it has not said who it is */
	TAILQ_ENTRY(conn) link;
};

struct rdzv_server {
	struct rdzv_core core;
	struct loop *loop;
	struct listener listener;
	struct timer timer;
	struct token token;
	bool open;		      /* no token */
	struct conns expected, known; /* expected: oldest first */
	int nexpected;
	bool told_ready, told_failure, told_finished, told_all;
	void (*changed)(struct rdzv_server *s, void *arg);
	void *arg;
};

/* ---- what the owner is told, and when we look at the clock ---- */
/* Until its connection is closed, a rank may not have read it yet. */
bool rdzv_server_all_told(const struct rdzv_server *s)
{
	return rdzv_core_all_told(&s->core) && TAILQ_EMPTY(&s->known);
}

static bool news(const struct rdzv_server *s)
{
	return s->told_all != rdzv_server_all_told(s) || s->told_ready != s->core.ready ||
	       s->told_failure != (s->core.failure[0] != 0) ||
	       s->told_finished != rdzv_core_finished(&s->core);
}

static void look_again(struct rdzv_server *s)
{
	const struct conn *oldest = TAILQ_FIRST(&s->expected);
	uint64_t now = now_ns(), due = s->core.due_ns;
	struct err e = {0};

	if (oldest && oldest->since_ns + PROOF_S * NS_PER_S < due)
		due = oldest->since_ns + PROOF_S * NS_PER_S;
	if (s->timer.pos && s->timer.at_ns <= due)
		return;
	if (loop_arm(s->loop, &s->timer, due > now ? due - now : 0, &e) < 0)
		rdzv_fail(&s->core, RDZV_UNABLE, "the rendezvous cannot go on: %s", e.msg);
}

static void settle(struct rdzv_server *s)
{
	look_again(s);
	if (!news(s))
		return;
	s->told_ready = s->core.ready;
	s->told_failure = s->core.failure[0] != 0;
	s->told_finished = rdzv_core_finished(&s->core);
	s->told_all = rdzv_server_all_told(s);
	if (s->changed)
		s->changed(s, s->arg);
}

/* ---- connections ---- */
static void conn_unlink(struct conn *n)
{
	struct rdzv_server *s = n->server;

	TAILQ_REMOVE(n->expected ? &s->expected : &s->known, n, link);
	s->nexpected -= n->expected;
	n->expected = false;
}

static void conn_drop(struct conn *n)
{
	conn_unlink(n);
	channel_drop(&n->channel);
	free(n);
}

static void now_known(struct conn *n)
{
	struct rdzv_server *s = n->server;

	if (!n->expected)
		return;
	conn_unlink(n);
	TAILQ_INSERT_TAIL(&s->known, n, link);
}

static int on_message(struct channel *c, uint16_t type, const void *data, size_t n)
{
	struct conn *conn = CONTAINER_OF(c, struct conn, channel);

	if (rdzv_core_message(&conn->server->core, &conn->peer, type, data, n, now_ns()) < 0)
		return -1;
	now_known(conn);
	settle(conn->server);
	return 0;
}

static void on_closed(struct channel *c, const struct err *why)
{
	struct conn *conn = CONTAINER_OF(c, struct conn, channel);
	struct rdzv_server *s = conn->server;

	(void)why;
	rdzv_core_closed(&s->core, &conn->peer, now_ns());
	conn_unlink(conn);
	free(conn);
	settle(s);
}

static void on_accept(struct listener *l, int fd, const union addr *from)
{
	struct rdzv_server *s = CONTAINER_OF(l, struct rdzv_server, listener);
	struct conn *n = calloc(1, sizeof(*n));
	struct err e = {0};

	(void)from;
	if (!n) {
		(void)close(fd);
		return;
	}
	if (s->nexpected >= s->core.size + STRANGERS)
		conn_drop(TAILQ_FIRST(&s->expected));
	n->server = s;
	n->peer.rank = -1;
	n->expected = true;
	n->since_ns = now_ns();
	n->channel.via = l;
	n->channel.on_message = on_message;
	n->channel.on_closed = on_closed;
	if (channel_accept(&n->channel, s->loop, fd, s->open ? NULL : &s->token, PROOF_S * NS_PER_S,
			   &e) < 0) {
		free(n);
		return;
	}
	TAILQ_INSERT_TAIL(&s->expected, n, link);
	s->nexpected++;
	look_again(s);
}

/* ---- what the core asks for ---- */
static struct conn *conn_of(struct rdzv_peer *p) { return CONTAINER_OF(p, struct conn, peer); }

static void core_send(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const void *data,
		      size_t n)
{
	(void)c;
	(void)!channel_send(&conn_of(p)->channel, type, data, n); /* -1: on_closed comes */
}

static void core_close(struct rdzv_core *c, struct rdzv_peer *p)
{
	(void)c;
	channel_finish(&conn_of(p)->channel, LINGER_S * NS_PER_S);
}

static void on_time(struct loop *l, struct timer *t)
{
	struct rdzv_server *s = CONTAINER_OF(t, struct rdzv_server, timer);
	uint64_t now = now_ns();
	struct conn *n;

	(void)l;
	while ((n = TAILQ_FIRST(&s->expected)) && n->since_ns + PROOF_S * NS_PER_S <= now)
		conn_drop(n);
	if (now >= s->core.due_ns)
		rdzv_core_tick(&s->core, now);
	settle(s);
}

/* ---- life ---- */
static int listen_on(struct rdzv_server *s, const struct rdzv_server_opts *o, struct err *e)
{
	union addr at = o->at;
	unsigned n = o->ports && addr_port(&at) ? o->ports : 1;

	for (unsigned i = 0; i < n; i++) {
		addr_set_port(&at, (uint16_t)(addr_port(&o->at) + i));
		if (!listener_open(&s->listener, s->loop, &at, e))
			return 0;
	}
	return -1;
}

struct rdzv_server *rdzv_server_new(struct loop *l, const struct rdzv_server_opts *o, struct err *e)
{
	struct rdzv_server *s = calloc(1, sizeof(*s));

	if (!s || o->size < 1 || o->size > WORLD_MAX) {
		err_set(e, ERR_SYS, "cannot make a rendezvous for %d ranks", o->size);
		free(s);
		return NULL;
	}
	s->core = (struct rdzv_core){.size = o->size,
				     .run = o->run,
				     .hosts = o->hosts,
				     .join_deadline_ns = o->join_deadline_ns,
				     .deadline_given = o->deadline_given,
				     .heartbeat_ns = o->heartbeat_ns,
				     .send = core_send,
				     .close = core_close};
	s->loop = l;
	s->timer.fire = on_time;
	s->listener.on_accept = on_accept;
	s->listener.max_unproven = (unsigned)o->size + STRANGERS;
	s->open = !o->token;
	if (o->token)
		s->token = *o->token;
	s->changed = o->changed;
	s->arg = o->arg;
	TAILQ_INIT(&s->expected);
	TAILQ_INIT(&s->known);
	rdzv_core_init(&s->core, now_ns());
	if (listen_on(s, o, e) < 0 || loop_arm(l, &s->timer, 0, e) < 0) {
		rdzv_server_free(s);
		return NULL;
	}
	return s;
}

void rdzv_server_free(struct rdzv_server *s)
{
	struct conn *n;

	if (!s)
		return;
	listener_close(&s->listener);
	loop_disarm(s->loop, &s->timer);
	while ((n = TAILQ_FIRST(&s->expected)) || (n = TAILQ_FIRST(&s->known)))
		conn_drop(n);
	rdzv_core_done(&s->core);
	token_wipe(&s->token);
	free(s);
}

uint16_t rdzv_server_port(const struct rdzv_server *s) { return addr_port(&s->listener.at); }

void rdzv_server_report_exit(struct rdzv_server *s, int rank, const char *cause)
{
	rdzv_core_report_exit(&s->core, rank, cause, now_ns());
	settle(s);
}

void rdzv_server_fail(struct rdzv_server *s, const char *sentence)
{
	rdzv_fail(&s->core, RDZV_UNABLE, "%s", sentence);
	settle(s);
}

const char *rdzv_server_failure(const struct rdzv_server *s)
{
	return s->core.failure[0] ? s->core.failure : NULL;
}

int rdzv_server_unjoined(const struct rdzv_server *s) { return s->core.unjoined; }
bool rdzv_server_ready(const struct rdzv_server *s) { return s->core.ready; }
bool rdzv_server_finished(const struct rdzv_server *s) { return rdzv_core_finished(&s->core); }

const struct rdzv_member *rdzv_server_member(const struct rdzv_server *s, int rank)
{
	return rank >= 0 && rank < s->core.size ? &s->core.seats[rank].m : NULL;
}
