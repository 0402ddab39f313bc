#include "bench/comm/tcp_door.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

enum { STRANGERS_MAX = 64, SILENT_S = 30 };

struct stranger {
	struct io io;
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

/* Whoever comes speaks first: until then the kernel keeps it, if it can. */
static void wait_for_words(int fd)
{
	int seconds = SILENT_S;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds));
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
	wait_for_words(fd);
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

static void make_room(struct tcp_door *d)
{
	struct stranger *oldest = d->strangers;

	if (d->nstrangers < d->expected + STRANGERS_MAX)
		return;
	while (oldest->next)
		oldest = oldest->next;
	send_away(oldest);
}

static void on_knock(struct loop *l, struct io *io, uint32_t events UNUSED)
{
	struct tcp_door *d = CONTAINER_OF(io, struct tcp_door, io);
	int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct stranger *s;
	struct err ignored;

	if (fd < 0 && errno != EAGAIN && tcp_scarce(errno))
		d->failed(d, "cannot take a connection of another rank", errno);
	if (fd < 0)
		return;
	make_room(d);
	s = calloc(1, sizeof(*s));
	if (!s) {
		(void)close(fd);
		return;
	}
	*s = (struct stranger){.door = d, .next = d->strangers};
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
	return loop_add(l, &d->io, EPOLLIN, e);
}

void tcp_door_leave(struct tcp_door *d)
{
	while (d->strangers)
		send_away(d->strangers);
}
