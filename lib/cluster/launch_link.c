/*
 * Messages between a launcher and an agent; on pipes `u32 length, u32 type`, the
 * body and a line end, because srun (and not it alone) passes on whole lines.
 */
#include "lib/cluster/agent.h"

#include "lib/cluster/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

enum { HEAD = 8, TAIL = 1, NOISE_MAX = 256 << 10, GOT_MIN = 64 << 10 };

static const char nonsense[] = "what it says makes no sense";
static const char noise[] = TROUBLE_NOISY;
static const char no_memory[] = "no memory";
static const char fed_up[] = "it does not take what is sent to it";

/* Of every version: which one it is comes in its hello. */
const char *link_greeting(void) { return "\nwindsock-agent\n"; }

static void closed(struct link *l, const char *why)
{
	if (l->closed)
		return;
	link_close(l);
	l->on_closed(l, why);
}

static void on_end(struct loop *loop UNUSED, struct timer *t)
{
	struct link *l = CONTAINER_OF(t, struct link, end);

	closed(l, l->doom);
}

/* Who sends may be in the middle of what on_closed would free. */
static void give_up(struct link *l, const char *why)
{
	struct err ignored;

	l->doom = why;
	(void)!loop_arm(l->loop, &l->end, 0, &ignored);
}

/* Drops all up to and with @text; false when it is not there. */
static bool skip_past(struct link *l, const char *text)
{
	size_t n = strlen(text), have = bytes_left(&l->got);
	const unsigned char *at = have ? memmem(bytes_first(&l->got), have, text, n) : NULL;

	if (at)
		bytes_drop(&l->got, (size_t)(at - bytes_first(&l->got)) + n);
	return at;
}

/* Drops what a login script printed; false until the greeting is there. */
static bool skip_noise(struct link *l)
{
	if (!l->greeted && l->asks && skip_past(l, l->asks)) {
		l->asks = NULL;
		l->on_asked(l);
	}
	l->greeted = l->greeted || skip_past(l, link_greeting());
	return l->greeted;
}

static void forget_input(struct link *l)
{
	size_t n = l->greeted ? 0 : bytes_left(&l->got);

	if (n) {
		n = n < sizeof(l->noise) ? n : sizeof(l->noise) - 1;
		memcpy(l->noise, bytes_first(&l->got), n);
		l->noise[n] = '\0';
	}
	bytes_done(&l->got);
}

/* Any call may close the link; what it was given to read stays until it returns. */
static const char *hand_out(struct link *l)
{
	size_t at = 0;
	uint32_t n, type;

	if (!skip_noise(l))
		return bytes_left(&l->got) > NOISE_MAX ? noise : NULL;
	while (!l->closed && bytes_left(&l->got) - at >= HEAD) {
		const unsigned char *from = bytes_first(&l->got) + at;
		struct wire_in head = {from, HEAD, false}, body;

		n = wire_u32(&head);
		type = wire_u32(&head);
		if (n > SECURE_MAX_MESSAGE || type > UINT16_MAX)
			return nonsense;
		if (bytes_left(&l->got) - at < HEAD + n + TAIL)
			break;
		if (from[HEAD + n] != '\n')
			return nonsense;
		body = (struct wire_in){from + HEAD, n, false};
		at += HEAD + n + TAIL;
		if (l->on_message(l, (uint16_t)type, &body) < 0)
			return nonsense;
	}
	if (!l->closed)
		bytes_drop(&l->got, at);
	return NULL;
}

/* False when there is nothing more, for now or for ever. */
static bool take_in(struct link *l)
{
	unsigned char *room = bytes_room(&l->got, GOT_MIN);
	const char *wrong = no_memory;
	ssize_t n = -1;

	if (room) {
		n = read(l->in.fd, room, l->got.cap - l->got.n);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		wrong = NULL;
	}
	if (n > 0) {
		l->got.n += (size_t)n;
		l->handing = true;
		wrong = hand_out(l);
		l->handing = false;
		if (l->closed)
			forget_input(l);
	}
	if (n <= 0 || wrong)
		closed(l, wrong);
	return !l->closed;
}

static void on_in(struct loop *loop UNUSED, struct io *io, uint32_t events UNUSED)
{
	(void)take_in(CONTAINER_OF(io, struct link, in));
}

void link_drain(struct link *l)
{
	while (!l->networked && !l->closed && take_in(l))
		;
}

/*
 * How much of it went out. What cannot be written any more is dropped: that the
 * other side is gone shows when we read.
 */
static size_t write_some(const struct link *l, const unsigned char *p, size_t n)
{
	size_t done = 0;
	ssize_t got;

	while (done < n) {
		got = write(l->out.fd, p + done, n - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? done : n;
		done += (size_t)got;
	}
	return done;
}

static void flush(struct link *l)
{
	struct err ignored;
	size_t done = l->raw_n ? write_some(l, l->raw, l->raw_n) : 0;
	bool waits;

	if (done)
		l->raw += done;
	l->raw_n -= done;
	if (!l->raw_n && bytes_left(&l->queue))
		bytes_drop(&l->queue, write_some(l, bytes_first(&l->queue), bytes_left(&l->queue)));
	waits = l->raw_n || bytes_left(&l->queue);
	if (waits && !l->wants_out)
		l->wants_out = loop_add(l->loop, &l->out, EPOLLOUT, &ignored) == 0;
	else if (!waits && l->wants_out) {
		loop_del(l->loop, &l->out);
		l->wants_out = false;
	}
}

static void on_out(struct loop *loop UNUSED, struct io *io, uint32_t events UNUSED)
{
	flush(CONTAINER_OF(io, struct link, out));
}

int link_open(struct link *l, struct loop *loop, int in, int out, bool greeting, struct err *e)
{
	l->loop = loop;
	l->in = (struct io){.fd = in, .ready = on_in};
	l->out = (struct io){.fd = out, .ready = on_out};
	l->networked = l->closed = l->wants_out = false;
	l->raw_n = 0;
	l->doom = NULL;
	l->end.fire = on_end;
	l->greeted = !greeting;
	if (fcntl(in, F_SETFL, O_NONBLOCK) || fcntl(out, F_SETFL, O_NONBLOCK))
		err_sys(e, "cannot talk to an agent");
	else if (!loop_add(loop, &l->in, EPOLLIN, e))
		return 0;
	link_close(l);
	return -1;
}

static int on_channel_message(struct channel *c, uint16_t type, const void *data, size_t n)
{
	struct link *l = CONTAINER_OF(c, struct link, channel);
	struct wire_in in = {data, n, false};

	return l->on_message(l, type, &in);
}

static void on_channel_closed(struct channel *c, const struct err *why)
{
	struct link *l = CONTAINER_OF(c, struct link, channel);

	closed(l, why->kind == ERR_NONE ? NULL : why->msg);
}

void link_over_channel(struct link *l, struct loop *loop)
{
	l->loop = loop;
	l->in.fd = l->out.fd = -1;
	l->networked = true;
	l->closed = false;
	l->channel.on_message = on_channel_message;
	l->channel.on_closed = on_channel_closed;
	l->channel.max_queue = LINK_QUEUE_MAX;
}

void link_send(struct link *l, uint16_t type, const void *data, size_t n)
{
	const size_t whole = HEAD + n + TAIL;
	struct wire_out head;
	unsigned char *to;

	if (l->closed || l->doom || n > SECURE_MAX_MESSAGE)
		return;
	if (l->networked) {
		(void)!channel_send(&l->channel, type, data, n); /* on_closed tells of trouble */
		return;
	}
	if (bytes_left(&l->queue) + whole > LINK_QUEUE_MAX) {
		give_up(l, fed_up);
		return;
	}
	to = bytes_room(&l->queue, whole);
	if (!to) {
		give_up(l, no_memory);
		return;
	}
	head = (struct wire_out){to, 0, HEAD, false};
	wire_put_u32(&head, (uint32_t)n);
	wire_put_u32(&head, type);
	if (n)
		memcpy(to + HEAD, data, n);
	to[HEAD + n] = '\n';
	l->queue.n += whole;
	if (!l->wants_out)
		flush(l);
}

void link_send_raw(struct link *l, const void *data, size_t n)
{
	l->raw = data;
	l->raw_n = n;
	flush(l);
}

void link_sendf(struct link *l, uint16_t type, uint32_t id, const void *data, size_t n)
{
	unsigned char buf[4 + AGENT_CHUNK];
	struct wire_out w = {buf, 0, sizeof(buf), false};

	wire_put_u32(&w, id);
	if (n)
		memcpy(buf + w.n, data, n);
	link_send(l, type, buf, w.n + n);
}

void link_close(struct link *l)
{
	if (l->closed)
		return;
	l->closed = true;
	if (l->networked) {
		channel_drop(&l->channel);
	} else if (l->loop) {
		loop_del(l->loop, &l->in);
		loop_del(l->loop, &l->out);
		loop_disarm(l->loop, &l->end);
		auto_closep(&l->in.fd);
		auto_closep(&l->out.fd);
		l->in.fd = l->out.fd = -1;
	}
	if (!l->handing)
		forget_input(l);
	bytes_done(&l->queue);
}
