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
	size_t done = 0;
	ssize_t n;

	while (done < q->n && is_writable(q->fd)) {
		n = write(q->fd, q->p + done, q->n - done < BITE ? q->n - done : BITE);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			break;
		if (n < 0) { /* `| head` has seen enough; a full disk */
			q->broken = true;
			n = (ssize_t)(q->n - done);
		}
		done += (size_t)n;
	}
	q->n -= done;
	memmove(q->p, q->p + done, q->n);
	watch(q, q->n > 0);
	if (q->drained && done && q->n < PENDING_LOW)
		q->drained(q);
}

static void on_writable(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	flush(CONTAINER_OF(io, struct outlet, io));
}

static bool grow(char **p, size_t *cap, size_t n)
{
	size_t want = *cap ? *cap : BITE;
	char *more;

	while (want < n)
		want *= 2;
	more = want == *cap ? *p : realloc(*p, want);
	if (!more)
		return false;
	*p = more;
	*cap = want;
	return true;
}

struct outlet outlet_to(int fd, struct loop *loop)
{
	return (struct outlet){.fd = fd, .loop = loop, .terminal = isatty(fd)};
}

void outlet_add(struct outlet *q, const void *data, size_t n)
{
	if (q->broken || !n)
		return;
	if (!grow(&q->p, &q->cap, q->n + n)) {
		q->dropped = true;
		return;
	}
	memcpy(q->p + q->n, data, n);
	q->n += n;
	if (!q->watched)
		flush(q);
}

void outlet_done(struct outlet *q)
{
	watch(q, false);
	free(q->p);
	q->p = NULL;
	q->n = q->cap = 0;
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
	if (!q->terminal)
		return;
	for (size_t i = 0; i < l->n; i++)
		l->p[i] = l->p[i] ? l->p[i] : '?';
	l->p[l->n - (l->p[l->n - 1] == '\n')] = '\0';
	term_clean(l->p);
	l->n = strlen(l->p);
	l->p[l->n++] = '\n';
}

/* What it is about: advice below it begins with blanks. */
static void remember(struct line *l)
{
	size_t n = l->n - (l->p[l->n - 1] == '\n');

	if (!n || *l->p == ' ')
		return;
	n = n < sizeof(l->last) ? n : sizeof(l->last) - 1;
	memcpy(l->last, l->p, n);
	l->last[n] = '\0';
	term_clean(l->last);
}

static void put_line(struct line *l, struct outlet *q, const char *prefix)
{
	remember(l);
	clean_for(l, q);
	outlet_add(q, prefix, strlen(prefix));
	outlet_add(q, l->p, l->n);
	if (l->p[l->n - 1] != '\n')
		outlet_add(q, "\n", 1);
	l->n = 0;
}

void line_add(struct line *l, struct outlet *q, const char *prefix, const char *data, size_t n,
	      bool end)
{
	while (n) {
		const char *nl = memchr(data, '\n', n);
		size_t part = nl ? (size_t)(nl + 1 - data) : n;

		part = part > LINE_MAX_BYTES - l->n ? LINE_MAX_BYTES - l->n : part;
		if (!grow(&l->p, &l->cap, l->n + part + 1)) {
			q->dropped = true;
			break;
		}
		memcpy(l->p + l->n, data, part);
		l->n += part;
		if (l->p[l->n - 1] == '\n' || l->n == LINE_MAX_BYTES)
			put_line(l, q, prefix);
		data += part;
		n -= part;
	}
	if (end && l->n)
		put_line(l, q, prefix);
	if (end) {
		free(l->p);
		l->p = NULL;
		l->n = l->cap = 0;
	}
}
