#include "lib/net/scan.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <poll.h>

enum { WINDOW = 512, SENDS = 3 };

struct talk {
	struct scan_probe *p;
	int fd; /* -1: over */
	uint64_t started_ns, again_ns;
	unsigned sent;
};

static void over(struct talk *t, int error)
{
	scan_conclude(t->p, -1, error, t->started_ns);
	if (t->fd >= 0)
		(void)close(t->fd);
	t->fd = -1;
}

/* 0.5 s, then 1 s more: hosts limit how often they say "port unreachable". */
static void send_one(struct talk *t)
{
	if (send(t->fd, "", 0, MSG_NOSIGNAL) < 0 && errno != EAGAIN && errno != ENOBUFS) {
		int error = errno;

		(void)scan_error(t->fd, t->p);
		over(t, error);
		return;
	}
	t->again_ns = now_ns() + (NS_PER_S / 2 << t->sent++);
}

static void begin(struct talk *t, const struct scan_opts *o)
{
	t->started_ns = now_ns();
	t->fd = scan_socket(t->p, SOCK_DGRAM, o);
	if (t->fd < 0)
		over(t, errno);
	else
		send_one(t);
}

static void heard(struct talk *t)
{
	char buf[64];
	int error = scan_error(t->fd, t->p);

	if (error)
		over(t, error);
	else if (recv(t->fd, buf, sizeof(buf), 0) >= 0)
		over(t, 0);
	else if (errno != EAGAIN)
		over(t, errno);
}

static bool waited(struct talk *t, uint64_t now, uint64_t patience_ns)
{
	if (now >= t->started_ns + patience_ns)
		over(t, ETIMEDOUT);
	else if (t->sent < SENDS && now >= t->again_ns)
		send_one(t);
	return t->fd >= 0;
}

/* One window: all are begun, then listened to until each is over. */
static int window(struct talk *t, size_t n, uint64_t patience_ns, struct err *e)
{
	struct pollfd fds[WINDOW];
	size_t left = n;

	while (left && !interrupt_pending()) {
		uint64_t looked_ns = now_ns(); /* what came since is not looked at yet */

		for (size_t i = 0; i < n; i++)
			fds[i] = (struct pollfd){.fd = t[i].fd, .events = POLLIN};
		if (poll(fds, n, 20) < 0 && errno != EINTR)
			return err_sys(e, "cannot wait for datagrams");
		left = 0;
		for (size_t i = 0; i < n; i++) {
			if (t[i].fd >= 0 && fds[i].revents)
				heard(&t[i]);
			left += t[i].fd >= 0 && waited(&t[i], looked_ns, patience_ns);
		}
	}
	return 0;
}

int scan_udp(struct scan_probe *v, size_t n, const struct scan_opts *o, struct err *e)
{
	uint64_t patience = o->patience_ns ?: SCAN_PATIENCE_S * NS_PER_S;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		v[i].state = TCP_PENDING;
	for (size_t at = 0; at < n && !rc && !interrupt_pending(); at += WINDOW) {
		struct talk t[WINDOW];
		size_t many = n - at < WINDOW ? n - at : WINDOW;

		for (size_t i = 0; i < many; i++) {
			t[i] = (struct talk){.p = &v[at + i]};
			begin(&t[i], o);
		}
		rc = window(t, many, patience, e);
		for (size_t i = 0; i < many; i++)
			if (t[i].fd >= 0)
				(void)close(t[i].fd);
		if (o->tick)
			o->tick(o->arg, at + many, n);
	}
	return rc;
}
