/* The thread of a rank: connects, joins, beats, sends what the calls ask for. */
#include "lib/cluster/rdzv_rank.h"

#include "lib/core/interrupt.h"
#include "lib/core/opt.h" /* WINDSOCK_VERSION */
#include "lib/core/units.h"
#include "lib/core/version.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static const uint64_t CONNECT_NS = 5 * NS_PER_S, LINGER_NS = NS_PER_S;
static const uint64_t FIRST_RETRY_NS = 10 * NS_PER_MS, LAST_RETRY_NS = 500 * NS_PER_MS;
enum { STRANGERS_MAX = 3 };

static struct rdzv *rank_of(struct channel *c) { return CONTAINER_OF(c, struct rdzv, channel); }

/* ---- what the calls wait for ---- */
void rdzv_news(struct rdzv *r, enum rdzv_state state)
{
	pthread_mutex_lock(&r->lock);
	if (state > r->state)
		r->state = state;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void rdzv_broken(struct rdzv *r, enum rdzv_why why, const char *sentence)
{
	static const uint64_t one = 1;

	if (atomic_load(&r->failure))
		return;
	r->failure_why = why;
	snprintf(r->failure_text, sizeof(r->failure_text), "%s", sentence);
	atomic_store(&r->failure, (const char *)r->failure_text);
	(void)!write(r->failure_fd, &one, sizeof(one));
	rdzv_news(r, RDZV_OVER);
}

static void fail_with_server(struct rdzv *r, const char *what)
{
	char s[RDZV_SAY_MAX + 1];
	struct addr_text text;

	snprintf(s, sizeof(s), "the rendezvous at %s %s", addr_print_port(&r->channel.peer, &text),
		 what);
	rdzv_broken(r, r->o.hosts ? RDZV_UNABLE : RDZV_LOST, s);
}

void rdzv_wake(struct rdzv *r)
{
	static const uint64_t one = 1;

	(void)!write(r->wake.fd, &one, sizeof(one));
}

/* ---- connecting ---- */
void rdzv_arm(struct rdzv *r, uint64_t delay_ns)
{
	struct err e = {0};

	if (loop_arm(&r->loop, &r->timer, delay_ns, &e) < 0)
		rdzv_broken(r, RDZV_UNABLE, e.msg);
}

static void keep_trouble(struct rdzv *r, const char *why)
{
	struct rdzv_door *d = &r->doors[r->door];

	if (d->early && !r->was_early)
		return; /* nobody is at its other ports: no news */
	pthread_mutex_lock(&r->lock);
	snprintf(d->trouble, sizeof(d->trouble), "%s", why);
	d->early = r->was_early;
	pthread_mutex_unlock(&r->lock);
}

void rdzv_stranger(struct rdzv *r, const char *why)
{
	keep_trouble(r, why);
	r->was_stranger = true;
}

void rdzv_early(struct rdzv *r, const char *why)
{
	r->was_early = true;
	keep_trouble(r, why);
}

static unsigned ports(const struct rdzv *r) { return r->o.ports ? r->o.ports : 1; }

static void retry(struct rdzv *r);

/* A door that nobody opens must leave time for the others, and a port at which somebody else takes
 * us in and says nothing, for those behind it. */
static uint64_t patience_ns(const struct rdzv *r)
{
	uint64_t part = r->o.deadline_ns / (2 * r->ndoors);

	return (r->ndoors > 1 || ports(r) > 1) && part < CONNECT_NS ? part : CONNECT_NS;
}

static void begin_round(struct rdzv *r)
{
	pthread_mutex_lock(&r->lock);
	r->doors[r->door].early = false;
	pthread_mutex_unlock(&r->lock);
}

static void try_connect(struct rdzv *r)
{
	struct rdzv_door *d = &r->doors[r->door];
	union addr to = d->to.server;
	struct err e = {0};

	addr_set_port(&to, (uint16_t)(addr_port(&to) + d->tries++ % ports(r)));
	if (!r->visited++)
		begin_round(r);
	r->channel.error = 0;
	if (!channel_connect(&r->channel, &r->loop, &to, r->o.token ? &r->token : NULL,
			     patience_ns(r), &e))
		return;
	if (r->ndoors == 1) {
		rdzv_broken(r, RDZV_UNABLE, e.msg);
		return;
	}
	keep_trouble(r, e.msg); /* of a family that this host does not have, perhaps */
	retry(r);
}

/* Its other ports would be as silent; the next time it is another one's turn. */
static bool leads_nowhere(const struct rdzv *r)
{
	int error = r->channel.error;

	return r->ndoors > 1 &&
	       (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH);
}

/* All ports of all doors once, then a pause that grows and is another one for each rank. */
static void retry(struct rdzv *r)
{
	uint64_t pause;

	if (r->visited < ports(r) && !leads_nowhere(r)) {
		rdzv_arm(r, 0);
		return;
	}
	r->visited = 0;
	r->door = (r->door + 1) % r->ndoors;
	if (r->door) {
		rdzv_arm(r, 0);
		return;
	}
	r->rounds++;
	pause = FIRST_RETRY_NS << (r->rounds < 6 ? r->rounds : 6);
	if (pause > LAST_RETRY_NS)
		pause = LAST_RETRY_NS;
	rdzv_arm(r, pause + pause / 16 * ((unsigned)r->o.rank % 8));
}

static void on_open(struct channel *c)
{
	struct rdzv *r = rank_of(c);
	unsigned char buf[2048];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};
	const struct rdzv_join_msg m = {
		.version = WINDSOCK_VERSION,
		.run = r->o.run,
		.rank = r->o.rank,
		.size = r->o.size,
		.local_rank = r->o.local_rank,
		.host = r->o.host,
		.data_addr = r->doors[r->door].to.data_addr,
		.device = r->o.device,
		.silence_ns = r->o.silence_ns,
		.excuse = r->o.excuse,
	};

	rdzv_put_join(&w, &m);
	(void)!channel_send(c, RDZV_JOIN, buf, w.n); /* -1: on_closed comes */
}

/* Of several ports people know the first one, which was typed: the others' refusals are no news. */
static bool is_news(const struct rdzv *r)
{
	const struct rdzv_door *d = &r->doors[r->door];

	return !*d->trouble || (d->tries - 1) % ports(r) == 0;
}

static void on_closed(struct channel *c, const struct err *why)
{
	struct rdzv *r = rank_of(c);

	if (r->state >= RDZV_JOINED) { /* only we write it */
		if (!atomic_load(&r->leaving))
			fail_with_server(r, why->kind ? "is gone: connection lost" : "has ended");
		loop_stop(&r->loop);
		return;
	}
	if (c->error == EPROTO)
		rdzv_stranger(r, why->msg);
	else if (!r->was_stranger && !r->was_early && is_news(r))
		keep_trouble(r, why->msg);
	r->strangers = r->was_stranger ? r->strangers + 1 : 0;
	r->was_stranger = r->was_early = false;
	if (r->o.ret_stale) {
		*r->o.ret_stale = true;
		rdzv_broken(r, RDZV_LOST, r->doors[r->door].trouble);
	} else if (r->strangers >= STRANGERS_MAX * ports(r) * r->ndoors)
		rdzv_broken(r, RDZV_UNABLE, r->doors[r->door].trouble);
	else
		retry(r);
}

/* ---- beating ---- */
static void beat(struct rdzv *r)
{
	uint64_t most = r->silence.most_ns;
	uint64_t wait = silence_look(&r->silence, now_ns(), most / RDZV_BEATS);
	struct unit_buf b;
	char what[64];

	if (!wait) {
		snprintf(what, sizeof(what), "has been silent for %s", format_duration(&b, most));
		fail_with_server(r, what);
		return;
	}
	(void)!channel_send(&r->channel, RDZV_BEAT, NULL, 0);
	rdzv_arm(r, wait);
}

static void on_timer(struct loop *l, struct timer *t)
{
	struct rdzv *r = CONTAINER_OF(t, struct rdzv, timer);

	(void)l;
	if (r->state == RDZV_CONNECTING)
		try_connect(r);
	else if (r->channel.open)
		beat(r); /* after a failure too: we are alive */
}

/* ---- the calls' requests ---- */
static void send_post(struct rdzv *r)
{
	struct rdzv_request p;

	pthread_mutex_lock(&r->lock);
	p = r->post;
	r->post.full = false;
	pthread_cond_broadcast(&r->changed); /* there is room for the next one */
	pthread_mutex_unlock(&r->lock);
	if (!p.full)
		return;
	(void)!channel_send(&r->channel, p.type, p.data, p.n); /* -1: on_closed comes */
	free(p.data);
}

static void on_wake(struct loop *l, struct io *io, uint32_t events)
{
	struct rdzv *r = CONTAINER_OF(io, struct rdzv, wake);
	uint64_t count;

	(void)l, (void)events;
	(void)!read(io->fd, &count, sizeof(count));
	send_post(r);
	if (!atomic_load(&r->leaving) || r->channel.closing)
		return;
	send_post(r); /* the last one may have come since: before leaving was set */
	if (channel_send(&r->channel, RDZV_LEAVE, r->goodbye, r->goodbye_n) < 0)
		loop_stop(&r->loop);
	channel_finish(&r->channel, LINGER_NS);
}

static void *thread_main(void *arg)
{
	struct rdzv *r = arg;
	struct err e = {0};

	try_connect(r);
	if (loop_run(&r->loop, &e) < 0)
		rdzv_broken(r, RDZV_UNABLE, e.msg);
	pthread_mutex_lock(&r->lock);
	r->interrupted = interrupt_pending() != 0;
	r->state = RDZV_OVER;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

int rdzv_thread_start(struct rdzv *r, struct err *e)
{
	sigset_t all, old;
	int rc;

	r->timer.fire = on_timer;
	r->wake = (struct io){eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), on_wake};
	r->channel.on_open = on_open;
	r->channel.on_message = rdzv_on_news;
	r->channel.on_closed = on_closed;
	if (r->wake.fd < 0)
		return err_sys(e, "cannot make a descriptor to wake a thread");
	if (loop_init(&r->loop, e) < 0 || loop_add(&r->loop, &r->wake, EPOLLIN, e) < 0)
		return -1;
	sigfillset(&all); /* signals are for the program's own threads */
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&r->thread, NULL, thread_main, r);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = rc;
	return rc ? err_sys(e, "cannot start a thread") : 0;
}

/* After Ctrl-C the loop does not run any more, but the others are told. */
void rdzv_thread_end(struct rdzv *r)
{
	atomic_store(&r->leaving, true);
	rdzv_wake(r);
	(void)pthread_join(r->thread, NULL);
	if (channel_send(&r->channel, RDZV_LEAVE, r->goodbye, r->goodbye_n) == 0)
		channel_finish(&r->channel, LINGER_NS);
	channel_drop(&r->channel);
}
