#include "bench/comm/tcp_door.h"

#include "lib/core/units.h"

#include <errno.h>
#include <sys/epoll.h>

enum { STRANGERS_MAX = 64, PATIENCE_MS = 250 };

struct stranger {
	struct io io;
	uint64_t since_ns;
	struct tcp_door *door;
	struct stranger *next; /* the one that came before it */
	struct greeting got;
	size_t n; /* of got */
};

int tcp_tie(int fd, const char *device, struct err *e)
{
	if (!device ||
	    !setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)))
		return 0;
	err_sys(e, "cannot tie a connection to %s", device);
	return err_hint(e, "Linux 5.7 or newer, or root");
}

int tcp_door_open(const struct tcp_opts *o, int *ret_fd, struct err *e)
{
	union addr at = o->at;
	struct addr_text text;
	AUTO_CLOSE int fd = socket(at.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	addr_set_port(&at, 0);
	if (fd >= 0 && tcp_tie(fd, o->device, e))
		return -1;
	if (fd < 0 || bind(fd, &at.sa, addr_len(&at)) || listen(fd, SOMAXCONN)) {
		err_sys(e, "cannot listen on %s", addr_print(&o->at, &text));
		return errno == EADDRNOTAVAIL ? err_hint(e, "`ip -br address` has those of cards")
					      : -1;
	}
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static bool same_key(const unsigned char *a, const unsigned char *b)
{
	unsigned char differ = 0;

	for (size_t i = 0; i < CARD_KEY; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* Its descriptor is still open. */
static int forget(struct stranger *s)
{
	struct tcp_door *d = s->door;
	struct stranger **at = &d->strangers;
	int fd = s->io.fd;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	d->nstrangers--;
	loop_del(d->loop, &s->io);
	free(s);
	return fd;
}

static void send_away(struct stranger *s) { (void)close(forget(s)); }

static void on_greeting(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	struct stranger *s = CONTAINER_OF(io, struct stranger, io);
	struct tcp_door *d = s->door;
	/* the key alone first: nothing else of a stranger is looked at */
	size_t want = s->n < CARD_KEY ? CARD_KEY : sizeof(s->got);
	ssize_t k = recv(io->fd, (char *)&s->got + s->n, want - s->n, 0);

	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->n += k > 0 ? (size_t)k : 0;
	if (k <= 0 || (s->n == CARD_KEY && !same_key(s->got.key, d->key))) {
		send_away(s);
	} else if (s->n == sizeof(s->got)) {
		struct greeting g = s->got;

		d->let_in(d, &g, forget(s));
	}
}

static void open_again(struct loop *l, struct timer *t)
{
	struct tcp_door *d = CONTAINER_OF(t, struct tcp_door, room);
	struct err ignored;

	if (loop_add(l, &d->io, EPOLLIN, &ignored))
		d->failed(d, "cannot wait for other ranks", errno);
}

/* False: there is none yet. Whoever knocks waits in the kernel until the oldest had its time: it
 * may be one of ours, which a busy host has not let speak yet. */
static bool make_room(struct tcp_door *d)
{
	struct stranger *oldest = d->strangers;
	uint64_t now = now_ns(), until;
	struct err ignored;

	if (d->nstrangers < d->expected + STRANGERS_MAX)
		return true;
	while (oldest->next)
		oldest = oldest->next;
	until = oldest->since_ns + PATIENCE_MS * NS_PER_MS;
	if (now < until && !loop_arm(d->loop, &d->room, until - now, &ignored)) {
		loop_del(d->loop, &d->io);
		return false;
	}
	send_away(oldest);
	return true;
}

static void on_knock(struct loop *l, struct io *io, uint32_t events UNUSED)
{
	struct tcp_door *d = CONTAINER_OF(io, struct tcp_door, io);
	struct stranger *s;
	struct err ignored;
	int fd;

	if (!make_room(d))
		return;
	fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && errno != EAGAIN && tcp_scarce(errno))
		d->failed(d, "cannot take a connection of another rank", errno);
	if (fd < 0)
		return;
	s = calloc(1, sizeof(*s));
	if (!s) {
		(void)close(fd);
		return;
	}
	*s = (struct stranger){.since_ns = now_ns(), .door = d, .next = d->strangers};
	s->io = (struct io){.fd = fd, .ready = on_greeting};
	d->strangers = s;
	d->nstrangers++;
	if (loop_add(l, &s->io, EPOLLIN, &ignored))
		d->failed(d, "cannot watch a connection", errno);
	else
		on_greeting(l, &s->io,
			    EPOLLIN); /* one of ours is no stranger, however many knock */
}

int tcp_door_watch(struct tcp_door *d, struct loop *l, struct err *e)
{
	d->loop = l;
	d->io.ready = on_knock;
	d->room.fire = open_again;
	return loop_add(l, &d->io, EPOLLIN, e);
}

void tcp_door_leave(struct tcp_door *d)
{
	if (d->loop)
		loop_disarm(d->loop, &d->room);
	while (d->strangers)
		send_away(d->strangers);
}
