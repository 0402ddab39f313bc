#ifndef TESTS_UNIT_CHANNEL_WORLD_H
#define TESTS_UNIT_CHANNEL_WORLD_H
/*
 * A loop, a listener on loopback and channels that note what befalls them.
 * A peer is one end; those that were accepted belong to the world, which frees
 * each when it is closed. A guard ends a loop that would wait for ever.
 */
#include "lib/core/units.h"
#include "lib/net/channel.h"

#include <arpa/inet.h>
#include <errno.h>

struct world;

struct peer {
	struct channel c;
	struct world *world;
	unsigned opened, got, closed;
	size_t bytes;
	struct err why;
	/* what to do from within the calls; NULL: nothing more */
	void (*on_open)(struct peer *p);
	int (*on_message)(struct peer *p, uint16_t type, const void *data, size_t n);
	void (*on_closed)(struct peer *p);
};

struct world {
	struct loop loop;
	struct listener listener;
	struct timer guard;
	const struct token *token;
	uint64_t deadline_ns;
	struct peer *accepted[16]; /* the first ones, to look at; NULL when closed */
	unsigned naccepted, nclosed, nproven, nlate, nroom; /* late; had to make room */
	struct peer last;    /* a copy of the one that was closed last */
	struct peer pattern; /* what an accepted one is made like */
	bool bound;	     /* the listener counts them */
	bool late;	     /* the guard had to end it */
};

static const struct token world_token = {"the world's key"};
static const struct token other_token = {"another's key.."};

static inline void peer_opened(struct channel *c)
{
	struct peer *p = CONTAINER_OF(c, struct peer, c);

	p->opened++;
	if (p->on_open)
		p->on_open(p);
}

static inline int peer_message(struct channel *c, uint16_t type, const void *data, size_t n)
{
	struct peer *p = CONTAINER_OF(c, struct peer, c);

	p->got++;
	p->bytes += n;
	return p->on_message ? p->on_message(p, type, data, n) : 0;
}

static inline void peer_closed(struct channel *c, const struct err *why)
{
	struct peer *p = CONTAINER_OF(c, struct peer, c);

	p->closed++;
	p->why = *why;
	if (p->on_closed)
		p->on_closed(p);
}

static inline void peer_prepare(struct peer *p, struct world *w)
{
	p->world = w;
	p->c.on_open = peer_opened;
	p->c.on_message = peer_message;
	p->c.on_closed = peer_closed;
}

static inline void world_forget(struct peer *p)
{
	struct world *w = p->world;

	for (size_t i = 0; i < ARRAY_LEN(w->accepted); i++)
		if (w->accepted[i] == p)
			w->accepted[i] = NULL;
	free(p);
}

static inline void world_closed(struct channel *c, const struct err *why)
{
	struct peer *p = CONTAINER_OF(c, struct peer, c);
	struct world *w = p->world;

	peer_closed(c, why);
	w->nclosed++;
	w->nproven += p->opened;
	w->nlate += c->error == ETIMEDOUT;
	w->nroom += c->error == ECONNABORTED;
	w->last = *p;
	world_forget(p);
}

static inline void world_accept(struct listener *s, int fd, const union addr *from)
{
	struct world *w = CONTAINER_OF(s, struct world, listener);
	struct peer *p = malloc(sizeof(*p));
	struct err e;

	(void)from;
	if (!p)
		abort();
	*p = w->pattern;
	peer_prepare(p, w);
	p->c.on_closed = world_closed;
	p->c.via = w->bound ? s : NULL;
	if (w->naccepted < ARRAY_LEN(w->accepted))
		w->accepted[w->naccepted] = p;
	w->naccepted++;
	if (channel_accept(&p->c, &w->loop, fd, w->token, w->deadline_ns, &e))
		abort();
}

static inline void world_late(struct loop *l, struct timer *t)
{
	CONTAINER_OF(t, struct world, guard)->late = true;
	loop_stop(l);
}

static inline union addr loopback(uint16_t port)
{
	union addr a = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};

	addr_set_port(&a, port);
	return a;
}

static inline void world_begin(struct world *w, const struct token *t)
{
	const union addr at = loopback(0);
	struct err e;

	w->token = t;
	if (!w->deadline_ns)
		w->deadline_ns = 5 * NS_PER_S;
	w->listener.on_accept = world_accept;
	if (loop_init(&w->loop, &e) || listener_open(&w->listener, &w->loop, &at, &e))
		abort();
}

static inline void world_connect(struct world *w, struct peer *p, const struct token *t)
{
	struct err e;

	peer_prepare(p, w);
	if (channel_connect(&p->c, &w->loop, &w->listener.at, t, w->deadline_ns, &e))
		abort();
}

/* Until somebody stops it; false: after @ms it had to be ended. */
static inline bool world_run(struct world *w, unsigned ms)
{
	struct err e;

	w->late = false;
	w->guard.fire = world_late;
	if (loop_arm(&w->loop, &w->guard, ms * NS_PER_MS, &e) || loop_run(&w->loop, &e))
		abort();
	loop_disarm(&w->loop, &w->guard);
	return !w->late;
}

static inline void world_end(struct world *w)
{
	for (size_t i = 0; i < ARRAY_LEN(w->accepted); i++)
		if (w->accepted[i]) {
			channel_drop(&w->accepted[i]->c);
			world_forget(w->accepted[i]);
		}
	listener_close(&w->listener);
	loop_done(&w->loop);
}

/* For on_closed and the like. */
static inline void peer_stop(struct peer *p) { loop_stop(&p->world->loop); }

#endif
