/*
 * What ranks say, on its way to descriptors that belong to the caller: they
 * are shared with a shell, so they are not switched to non-blocking. One page
 * into a pipe that poll() calls writable does not block; a file never does.
 */
#include "lib/cluster/launch_agents.h"

#include "lib/core/term.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

enum { BITE = 4096 };

static bool is_writable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) > 0;
}

static void on_writable(struct loop *l, struct io *io, uint32_t events);

static void watch(struct outlet *q, bool on)
{
	struct err ignored;

	q->io = (struct io){.fd = q->fd, .ready = on_writable};
	if (on && !q->watched)
		q->watched = !loop_add(q->loop, &q->io, EPOLLOUT, &ignored);
	else if (!on && q->watched) {
		loop_del(q->loop, &q->io);
		q->watched = false;
	}
}

static void flush(struct outlet *q)
{
	const size_t before = bytes_left(&q->waiting);
	size_t left;
	ssize_t n;

	while ((left = bytes_left(&q->waiting)) && is_writable(q->fd)) {
		n = write(q->fd, bytes_first(&q->waiting), left < BITE ? left : BITE);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			break;
		if (n < 0) { /* `| head` has seen enough; a full disk */
			q->broken = true;
			n = (ssize_t)left;
		}
		bytes_drop(&q->waiting, (size_t)n);
	}
	watch(q, left > 0);
	if (q->drained && left < before && left < PENDING_LOW)
		q->drained(q);
}

static void on_writable(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	flush(CONTAINER_OF(io, struct outlet, io));
}

struct outlet outlet_to(int fd, struct loop *loop)
{
	return (struct outlet){.fd = fd, .loop = loop, .terminal = isatty(fd)};
}

void outlet_add(struct outlet *q, const void *data, size_t n)
{
	struct err ignored;

	if (q->broken)
		return;
	if (bytes_add(&q->waiting, data, n, &ignored)) {
		q->dropped = true;
		return;
	}
	if (n && !q->watched)
		flush(q);
}

void outlet_done(struct outlet *q)
{
	watch(q, false);
	bytes_done(&q->waiting);
	q->broken = true;
}

void outlets_confess(const struct outlet *out, const struct outlet *err)
{
	static const char said[] = "some of what the ranks said is lost: this machine had no "
				   "memory left to pass it on\n";

	if ((out->dropped || err->dropped) && !err->broken && is_writable(err->fd))
		(void)!write(err->fd, said, sizeof(said) - 1);
}

/* What another host sends is no command to this terminal. A file gets every byte. */
static void clean_for(struct line *l, const struct outlet *q)
{
	char *s = (char *)l->text.p;
	size_t n = l->text.n;

	if (!q->terminal)
		return;
	for (size_t i = 0; i < n; i++)
		s[i] = s[i] ? s[i] : '?';
	s[n - (s[n - 1] == '\n')] = '\0';
	term_clean(s);
	n = strlen(s);
	s[n++] = '\n';
	l->text.n = n;
}

/* What it is about: advice below it begins with blanks. */
static void remember(struct line *l)
{
	const struct bytes *t = &l->text;
	size_t n = t->n - (t->p[t->n - 1] == '\n');

	if (!n || *t->p == ' ')
		return;
	n = n < sizeof(l->last) ? n : sizeof(l->last) - 1;
	memcpy(l->last, t->p, n);
	l->last[n] = '\0';
	term_tame(l->last);
}

static void put_line(struct line *l, struct outlet *q, const char *prefix)
{
	remember(l);
	clean_for(l, q);
	outlet_add(q, prefix, strlen(prefix));
	outlet_add(q, l->text.p, l->text.n);
	if (l->text.p[l->text.n - 1] != '\n')
		outlet_add(q, "\n", 1);
	bytes_drop(&l->text, l->text.n);
}

void line_add(struct line *l, struct outlet *q, const char *prefix, const char *data, size_t n,
	      bool end)
{
	while (n) {
		const char *nl = memchr(data, '\n', n);
		size_t part = nl ? (size_t)(nl + 1 - data) : n, room = LINE_MAX_BYTES - l->text.n;
		unsigned char *to;

		part = part > room ? room : part;
		to = bytes_room(&l->text, part + 1); /* what is cleaned ends in a NUL */
		if (!to) {
			q->dropped = true;
			break;
		}
		memcpy(to, data, part);
		l->text.n += part;
		if (to[part - 1] == '\n' || l->text.n == LINE_MAX_BYTES)
			put_line(l, q, prefix);
		data += part;
		n -= part;
	}
	if (end && l->text.n)
		put_line(l, q, prefix);
	if (end)
		bytes_done(&l->text);
}
