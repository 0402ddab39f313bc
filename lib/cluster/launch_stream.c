/*
 * Connections carried through a link: an agent's end takes them from its ranks,
 * the launcher's end makes them again to its own rendezvous server. What they
 * say is not looked at; the server's own limits bound what is on its way.
 */
#include "lib/cluster/agent.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { STREAM_QUEUE_MAX = 64 << 20 };

struct stream {
	struct io io;
	struct streams *of;
	struct stream *next;
	uint32_t id;
	bool spoke;  /* its owner */
	bool ending; /* the other side closed: only what is queued is left to send */
	struct bytes queue;
};

static void stream_free(struct stream *st)
{
	struct stream **at = &st->of->first;

	while (*at != st)
		at = &(*at)->next;
	*at = st->next;
	st->of->n--;
	loop_del(st->of->loop, &st->io);
	(void)close(st->io.fd);
	bytes_done(&st->queue);
	free(st);
}

static void stream_end(struct stream *st)
{
	if (!st->ending)
		link_sendf(st->of->link, STREAM_CLOSE, st->id, NULL, 0);
	stream_free(st);
}

/* False when it is gone. */
static bool flush(struct stream *st)
{
	struct err ignored;
	size_t left;
	ssize_t n = 0;

	while ((left = bytes_left(&st->queue)) && n >= 0) {
		n = send(st->io.fd, bytes_first(&st->queue), left, MSG_NOSIGNAL);
		if (n > 0)
			bytes_drop(&st->queue, (size_t)n);
	}
	if ((n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN) ||
	    (!left && st->ending)) {
		stream_end(st);
		return false;
	}
	(void)!loop_change(st->of->loop, &st->io, EPOLLIN | (left ? EPOLLOUT : 0), &ignored);
	return true;
}

static void take_in(struct stream *st)
{
	char buf[AGENT_CHUNK];
	ssize_t n = recv(st->io.fd, buf, sizeof(buf), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	st->spoke |= n > 0;
	if (n > 0 && !st->ending)
		link_sendf(st->of->link, STREAM_DATA, st->id, buf, (size_t)n);
	else if (n <= 0)
		stream_end(st);
}

static void on_ready(struct loop *l UNUSED, struct io *io, uint32_t events)
{
	struct stream *st = CONTAINER_OF(io, struct stream, io);

	if (!(events & EPOLLOUT) || flush(st))
		if (events & ~(uint32_t)EPOLLOUT)
			take_in(st);
}

int stream_new(struct streams *s, int fd, uint32_t id, struct err *e)
{
	struct stream *st = calloc(1, sizeof(*st));

	if (!st) {
		(void)close(fd);
		return err_sys(e, "cannot carry a connection");
	}
	*st = (struct stream){.io = {.fd = fd, .ready = on_ready}, .of = s, .next = s->first};
	s->first = st;
	s->n++;
	st->id = id ? id : ++s->last_id;
	if (loop_add(s->loop, &st->io, EPOLLIN, e)) {
		stream_free(st);
		return -1;
	}
	if (!id)
		link_sendf(s->link, STREAM_OPEN, st->id, NULL, 0);
	return 0;
}

bool streams_make_room(struct streams *s)
{
	struct stream *oldest = NULL;

	for (struct stream *st = s->first; st; st = st->next) /* the youngest is in front */
		oldest = st->spoke ? oldest : st;
	if (oldest)
		stream_end(oldest);
	return oldest != NULL;
}

static int queue(struct stream *st, const void *data, size_t n)
{
	struct err ignored;

	if (bytes_left(&st->queue) + n > STREAM_QUEUE_MAX)
		return -1;
	return bytes_add(&st->queue, data, n, &ignored);
}

int streams_message(struct streams *s, uint16_t type, struct wire_in *in)
{
	uint32_t id = wire_u32(in);
	struct stream *st = s->first;

	if (in->bad)
		return -1;
	while (st && st->id != id)
		st = st->next;
	if (!st)
		return 0; /* it ended here meanwhile */
	if (type == STREAM_CLOSE) {
		st->ending = true;
		(void)flush(st);
	} else if (queue(st, in->p, in->n) < 0) {
		stream_end(st);
	} else if (bytes_left(&st->queue) == in->n) {
		(void)flush(st);
	}
	return 0;
}

void streams_done(struct streams *s)
{
	while (s->first)
		stream_free(s->first);
}
