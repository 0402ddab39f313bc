#include "lib/core/units.h"
#include "lib/net/channel.h"

#include <errno.h>
#include <sys/epoll.h>

enum { PAUSE_MS = 100 };

void listener_release(struct listener *s, struct channel *c)
{
	if (!c->held)
		return;
	TAILQ_REMOVE(&s->unproven, c, unproven);
	c->held = false;
	s->nunproven--;
}

static void drop_oldest(struct listener *s)
{
	struct channel *oldest = TAILQ_FIRST(&s->unproven);

	listener_release(s, oldest);
	channel_doom(oldest, "had to make room before it had proved itself", ECONNABORTED);
}

void listener_hold(struct listener *s, struct channel *c)
{
	TAILQ_INSERT_TAIL(&s->unproven, c, unproven);
	c->held = true;
	if (++s->nunproven > (s->max_unproven ? s->max_unproven : LISTENER_UNPROVEN_MAX))
		drop_oldest(s);
}

/* Its timer is armed from listener_open() on, so moving it needs no memory and cannot fail. */
static void pause_for(struct listener *s, uint64_t ns)
{
	struct err ignored;

	(void)!loop_arm(s->loop, &s->pause, ns, &ignored);
}

static void go_on(struct loop *l, struct timer *t)
{
	struct listener *s = CONTAINER_OF(t, struct listener, pause);
	struct err ignored;
	bool listens = loop_add(l, &s->io, EPOLLIN, &ignored) == 0;

	pause_for(s, listens ? UINT64_MAX : PAUSE_MS * NS_PER_MS);
}

/* What waits stays readable: without descriptors the loop would spin. */
static void run_short(struct listener *s)
{
	if (s->nunproven) {
		drop_oldest(s);
		return;
	}
	loop_del(s->loop, &s->io);
	pause_for(s, PAUSE_MS * NS_PER_MS);
}

/* One at a time: the others get their turn, and @on_accept may end the listener. */
static void knock(struct loop *l, struct io *io, uint32_t events)
{
	struct listener *s = CONTAINER_OF(io, struct listener, io);
	union addr from = {0};
	socklen_t n = sizeof(from);
	int fd = accept4(io->fd, &from.sa, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);

	(void)l, (void)events;
	if (fd >= 0)
		s->on_accept(s, fd, &from);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		run_short(s);
}

static int listen_at(int fd, const union addr *at, union addr *ret, struct err *e)
{
	int on = 1, off = 0;
	socklen_t n = sizeof(*ret);
	struct addr_text text;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (at->sa.sa_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) ||
	    bind(fd, &at->sa, addr_len(at)) || listen(fd, SOMAXCONN) ||
	    getsockname(fd, &ret->sa, &n)) {
		err_sys(e, "cannot listen on %s", addr_print_port(at, &text));
		if (errno == EADDRINUSE)
			return err_hint(e, "see who does: ss -ltnp 'sport = :%u'", addr_port(at));
		return errno == EACCES ? err_hint(e, "ports below %d are root's: take a higher one",
						  IPPORT_RESERVED)
				       : -1;
	}
	return 0;
}

int listener_open(struct listener *s, struct loop *l, const union addr *at, struct err *e)
{
	int fd = socket(at->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(e, "cannot make a socket");
	s->io = (struct io){fd, knock};
	s->pause = (struct timer){.fire = go_on};
	s->nunproven = 0;
	TAILQ_INIT(&s->unproven);
	s->loop = l;
	if (listen_at(fd, at, &s->at, e) || loop_arm(l, &s->pause, UINT64_MAX, e) ||
	    loop_add(l, &s->io, EPOLLIN, e)) {
		listener_close(s);
		return -1;
	}
	return 0;
}

int listener_open_any(struct listener *s, struct loop *l, uint16_t port, struct err *e)
{
	union addr any = {.v6 = {.sin6_family = AF_INET6}};
	union addr any4 = {.v4 = {.sin_family = AF_INET}};
	struct err why;

	addr_set_port(&any, port);
	addr_set_port(&any4, port);
	if (!listener_open(s, l, &any, &why))
		return 0;
	if (errno != EADDRINUSE && !listener_open(s, l, &any4, &why))
		return 0;
	*e = why;
	return -1;
}

void listener_close(struct listener *s)
{
	if (!s->loop)
		return;
	while (!TAILQ_EMPTY(&s->unproven))
		listener_release(s, TAILQ_FIRST(&s->unproven));
	loop_disarm(s->loop, &s->pause);
	loop_del(s->loop, &s->io);
	(void)close(s->io.fd);
	s->loop = NULL;
}
