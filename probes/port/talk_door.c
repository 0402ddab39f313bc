/* The end that listens: one thread, one loop, nothing kept of what arrives. */
#include "probes/port/talk.h"

#include "lib/core/units.h"
#include "lib/net/channel.h"
#include "lib/net/wire.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { MOST_TALKS = 4096, PATIENCE_S = 60, BITE = 1 << 20 };

const char talk_magic[TALK_MAGIC + 1] = "wsktalk\1";

struct talk_door {
	struct loop loop;
	struct listener listener;
	struct io end; /* an eventfd: talk_close() */
	unsigned char hello[TALK_HELLO];
	unsigned talks;
	pthread_t thread;
};

struct visit {
	struct io io;
	struct timer timer;
	struct talk_door *door;
	unsigned char hello[TALK_HELLO];
	size_t hello_n;
	uint64_t arrived;
};

static void visit_end(struct visit *v)
{
	loop_del(&v->door->loop, &v->io);
	loop_disarm(&v->door->loop, &v->timer);
	(void)close(v->io.fd);
	v->door->talks--;
	free(v);
}

static void on_late(struct loop *l, struct timer *t)
{
	(void)l;
	visit_end(CONTAINER_OF(t, struct visit, timer));
}

/* False: not ours, or gone. */
static bool take_hello(struct visit *v)
{
	ssize_t n = recv(v->io.fd, v->hello + v->hello_n, TALK_HELLO - v->hello_n, 0);

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0)
		return false;
	v->hello_n += (size_t)n;
	if (v->hello_n < TALK_HELLO)
		return true;
	return !sodium_memcmp(v->hello, v->door->hello, TALK_HELLO) &&
	       send(v->io.fd, "", 1, MSG_NOSIGNAL) == 1;
}

static void answer(struct visit *v)
{
	unsigned char count[8];
	struct wire_out w = {.p = count, .cap = sizeof(count)};

	wire_put_u64(&w, v->arrived);
	(void)!send(v->io.fd, count, sizeof(count), MSG_NOSIGNAL);
	visit_end(v);
}

/* With MSG_TRUNC the kernel drops the bytes without copying them. */
static void take_bulk(struct visit *v)
{
	struct err ignored;
	ssize_t n = recv(v->io.fd, NULL, BITE, MSG_TRUNC);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0) {
		visit_end(v);
	} else if (!n) {
		answer(v);
	} else {
		v->arrived += (uint64_t)n;
		(void)!loop_arm(&v->door->loop, &v->timer, PATIENCE_S * NS_PER_S, &ignored);
	}
}

static void on_readable(struct loop *l, struct io *io, uint32_t events)
{
	struct visit *v = CONTAINER_OF(io, struct visit, io);

	(void)l;
	(void)events;
	if (v->hello_n == TALK_HELLO)
		take_bulk(v);
	else if (!take_hello(v))
		visit_end(v);
}

static void on_accept(struct listener *s, int fd, const union addr *from)
{
	struct talk_door *d = CONTAINER_OF(s, struct talk_door, listener);
	struct visit *v = d->talks < MOST_TALKS ? calloc(1, sizeof(*v)) : NULL;
	struct err ignored;

	(void)from;
	if (!v) {
		(void)close(fd);
		return;
	}
	d->talks++;
	v->door = d;
	v->io = (struct io){.fd = fd, .ready = on_readable};
	v->timer.fire = on_late;
	if (loop_add(&d->loop, &v->io, EPOLLIN, &ignored) ||
	    loop_arm(&d->loop, &v->timer, PATIENCE_S * NS_PER_S, &ignored))
		visit_end(v);
}

static void on_end(struct loop *l, struct io *io, uint32_t events)
{
	(void)io;
	(void)events;
	loop_stop(l);
}

static void *serve(void *door)
{
	struct talk_door *d = door;
	struct err ignored;

	(void)!loop_run(&d->loop, &ignored);
	return NULL;
}

static int listen_somewhere(struct talk_door *d, const port_list *ports, struct err *e)
{
	if (!ports)
		return listener_open_any(&d->listener, &d->loop, 0, e);
	err_set(e, ERR_SYS, "no port to listen on");
	for (size_t i = 0; i < ports->n; i++)
		if (!listener_open_any(&d->listener, &d->loop, ports->v[i], e))
			return 0;
	return -1;
}

static void door_free(struct talk_door *d)
{
	listener_close(&d->listener);
	if (d->end.fd >= 0) {
		loop_del(&d->loop, &d->end);
		(void)close(d->end.fd);
	}
	loop_done(&d->loop);
	free(d);
}

struct talk_door *talk_open(const port_list *ports, const unsigned char secret[TALK_SECRET],
			    struct err *e)
{
	struct talk_door *d = calloc(1, sizeof(*d));

	if (!d) {
		err_set(e, ERR_SYS, "no memory to listen");
		return NULL;
	}
	memcpy(d->hello, talk_magic, TALK_MAGIC);
	memcpy(d->hello + TALK_MAGIC, secret, TALK_SECRET);
	d->listener.on_accept = on_accept;
	d->end = (struct io){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = on_end};
	if (loop_init(&d->loop, e) || loop_add(&d->loop, &d->end, EPOLLIN, e) ||
	    listen_somewhere(d, ports, e)) {
		door_free(d);
		return NULL;
	}
	errno = pthread_create(&d->thread, NULL, serve, d);
	if (errno) {
		err_sys(e, "cannot start a thread");
		door_free(d);
		return NULL;
	}
	return d;
}

uint16_t talk_port(const struct talk_door *d) { return addr_port(&d->listener.at); }

static void end_visits(struct talk_door *d)
{
	/* Every visit has a timer, and nothing else has one. */
	while (d->loop.nheap)
		d->loop.heap[0]->fire(&d->loop, d->loop.heap[0]);
}

void talk_close(struct talk_door *d)
{
	if (!d)
		return;
	(void)!write(d->end.fd, &(uint64_t){1}, sizeof(uint64_t));
	(void)pthread_join(d->thread, NULL);
	listener_close(&d->listener);
	end_visits(d);
	door_free(d);
}
