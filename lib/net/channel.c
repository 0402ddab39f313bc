#include "lib/net/channel.h"

#include "lib/net/channel_why.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

enum {
	CHUNK = 64 << 10,
	CHUNKS = 4, /* read in one go; then it is the turn of others */
	CORK = CHUNK,
};

/* --- the end --------------------------------------------------------------- */
static void release(struct channel *c)
{
	loop_disarm(c->loop, &c->timer);
	loop_del(c->loop, &c->io);
	(void)close(c->io.fd);
	listener_release(c->via, c);
	if (c->gone)
		*c->gone = true; /* feed() is at work on @secure and will free it */
	else
		secure_free(c->secure);
	c->gone = NULL;
	c->secure = NULL;
	c->loop = NULL;
}

void channel_drop(struct channel *c)
{
	if (c->loop)
		release(c);
}

static void close_for(struct channel *c, const struct err *why)
{
	release(c);
	if (c->on_closed)
		c->on_closed(c, why);
}

/* It is armed already, so moving it needs no memory and cannot fail. */
static void move_timer(struct channel *c, uint64_t delay_ns)
{
	struct err ignored;

	(void)!loop_arm(c->loop, &c->timer, delay_ns, &ignored);
}

void channel_doom(struct channel *c, const char *why, int error)
{
	if (c->doom)
		return;
	c->doom = why;
	c->error = error;
	loop_del(c->loop, &c->io);
	move_timer(c, 0);
}

/* --- output ---------------------------------------------------------------- */
static size_t queued(const struct channel *c)
{
	size_t n;

	secure_output(c->secure, &n);
	return n;
}

static int send_queued(struct channel *c)
{
	const void *p;
	ssize_t sent;
	size_t n;

	while ((p = secure_output(c->secure, &n))) {
		sent = send(c->io.fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		secure_sent(c->secure, (size_t)sent);
	}
	return 0;
}

/*
 * A failure to send does not end it here: what the peer said before it went
 * may still lie unread, and we may be inside a call of our owner's.
 */
static void flush(struct channel *c)
{
	bool more;
	struct err ignored;

	if (c->doom)
		return;
	if (send_queued(c)) {
		c->broken = true;
		channel_doom(c, "", errno);
		return;
	}
	more = queued(c) != 0;
	if (more != c->wants_out &&
	    loop_change(c->loop, &c->io, more ? EPOLLIN | EPOLLOUT : EPOLLIN, &ignored))
		channel_doom(c, "cannot be watched", errno);
	c->wants_out = more;
	if (c->closing && !more && !c->shut) {
		(void)shutdown(c->io.fd, SHUT_WR);
		c->shut = true;
	}
}

int channel_send(struct channel *c, uint16_t type, const void *data, size_t n)
{
	size_t max = c->max_queue ? c->max_queue : CHANNEL_QUEUE_MAX;
	struct err e;

	if (!c->loop || !c->open || c->closing || c->doom || n > SECURE_MAX_MESSAGE)
		return -1;
	if (queued(c) + n > max) {
		channel_doom(c, "does not take what is sent to it", ENOBUFS);
		return -1;
	}
	if (secure_seal(c->secure, type, data, n, &e)) {
		channel_doom(c, "cannot be written to: no memory", ENOMEM);
		return -1;
	}
	/* Answers given while input is being read go out together. */
	if (!c->wants_out && (!c->gone || queued(c) > CORK))
		flush(c);
	return 0;
}

void channel_finish(struct channel *c, uint64_t linger_ns)
{
	struct err ignored;

	if (!c->loop || c->closing || c->doom)
		return;
	c->closing = true;
	if (!c->open || secure_end(c->secure, &ignored)) {
		channel_doom(c, "", 0);
		return;
	}
	move_timer(c, linger_ns);
	if (!c->gone && !c->wants_out)
		flush(c);
}

/* --- input ----------------------------------------------------------------- */
struct feeding {
	struct channel *c;
	bool gone;
};

static void opened(struct channel *c)
{
	c->open = true;
	listener_release(c->via, c);
	move_timer(c, UINT64_MAX);
	if (c->on_open)
		c->on_open(c);
}

static int deliver(void *arg, uint16_t type, const void *data, size_t n)
{
	struct feeding *f = arg;
	int rc = 0;

	if (!f->c->open)
		opened(f->c);
	if (!f->gone && !f->c->closing && f->c->on_message)
		rc = f->c->on_message(f->c, type, data, n);
	return f->gone ? -1 : rc;
}

enum state { ALIVE, DRY, GONE, OVER };

static enum state feed(struct channel *c, const void *data, size_t n, struct err *e)
{
	struct feeding f = {.c = c};
	const struct secure_sink to = {.message = deliver, .arg = &f};
	struct secure *s = c->secure;
	int rc;

	c->gone = &f.gone;
	rc = secure_feed(s, data, n, &to, e);
	if (!rc && !c->open && secure_is_open(s))
		opened(c);
	if (f.gone) {
		secure_free(s);
		return GONE;
	}
	c->gone = NULL;
	if (rc) {
		(void)!send_queued(c); /* a hello that tells the peer why */
		why_refused(c, e);
		return OVER;
	}
	c->ended = secure_is_ended(s);
	if (!c->ended)
		return ALIVE;
	why_finished(c, e);
	return OVER;
}

static enum state receive(struct channel *c, struct err *e)
{
	unsigned char chunk[CHUNK];
	enum state state = ALIVE;

	for (int i = 0; i < CHUNKS && state == ALIVE; i++) {
		ssize_t n = recv(c->io.fd, chunk, sizeof(chunk), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return DRY;
		if (n <= 0) {
			n == 0 && c->shut ? why_finished(c, e) : why_lost(c, n ? errno : 0, e);
			return OVER;
		}
		if (!c->closing)
			state = feed(c, chunk, (size_t)n, e);
		if (state == ALIVE && ((size_t)n < sizeof(chunk) || (c->doom && !c->broken)))
			return DRY;
	}
	return state;
}

/* --- what the loop calls --------------------------------------------------- */
static int connected(struct channel *c, struct err *e)
{
	int error = 0;
	socklen_t n = sizeof(error);

	if (getsockopt(c->io.fd, SOL_SOCKET, SO_ERROR, &error, &n))
		error = errno;
	if (error) {
		why_lost(c, error, e);
		return -1;
	}
	c->connecting = false;
	return 0;
}

static void ready(struct loop *l, struct io *io, uint32_t events)
{
	struct channel *c = CONTAINER_OF(io, struct channel, io);
	enum state state = DRY;
	struct err e = {0};

	(void)l;
	if (c->connecting && connected(c, &e))
		state = OVER;
	else if (events & ~(uint32_t)EPOLLOUT)
		state = receive(c, &e);
	if (state == OVER)
		close_for(c, &e);
	else if (state != GONE)
		flush(c);
}

static void expire(struct loop *l, struct timer *t)
{
	struct channel *c = CONTAINER_OF(t, struct channel, timer);
	enum state state = c->broken && c->open ? ALIVE : DRY;
	int error = c->error;
	struct err e = {0};

	(void)l;
	while (state == ALIVE)
		state = receive(c, &e);
	if (state == GONE)
		return;
	if (c->ended || (c->closing && (c->doom || !queued(c))))
		why_finished(c, &e);
	else if (c->broken)
		why_lost(c, error, &e);
	else if (c->doom)
		why_of(c, error, c->doom, &e);
	else if (c->closing)
		why_of(c, ETIMEDOUT, "did not take the last messages", &e);
	else
		why_late(c, &e);
	close_for(c, &e);
}

/* --- the beginning --------------------------------------------------------- */
static int start(struct channel *c, struct loop *l, int fd, enum secure_role role,
		 const struct token *t, uint64_t deadline_ns, struct err *e)
{
	bool connects = role == SECURE_CONNECTOR;
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	c->connecting = c->wants_out = connects;
	c->open = c->closing = c->ended = c->shut = c->broken = c->held = false;
	c->error = 0;
	c->io = (struct io){fd, ready};
	c->timer = (struct timer){.fire = expire};
	c->deadline_ns = deadline_ns;
	c->doom = NULL;
	c->gone = NULL;
	c->secure = secure_new(role, t, e);
	if (c->secure && loop_arm(l, &c->timer, deadline_ns, e) == 0 &&
	    loop_add(l, &c->io, connects ? EPOLLOUT : EPOLLIN, e) == 0) {
		c->loop = l;
		return 0;
	}
	loop_disarm(l, &c->timer);
	secure_free(c->secure);
	(void)close(fd);
	return -1;
}

int channel_connect(struct channel *c, struct loop *l, const union addr *to, const struct token *t,
		    uint64_t deadline_ns, struct err *e)
{
	int fd = socket(to->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return err_sys(e, "cannot make a socket");
	c->peer = *to;
	c->via = NULL;
	/* Not watched before it is on its way: until then it looks closed. */
	error = connect(fd, &to->sa, addr_len(to)) && errno != EINPROGRESS ? errno : 0;
	if (start(c, l, fd, SECURE_CONNECTOR, t, deadline_ns, e))
		return -1;
	if (error) {
		c->broken = true;
		channel_doom(c, "", error);
	}
	return 0;
}

int channel_accept(struct channel *c, struct loop *l, int fd, const struct token *t,
		   uint64_t deadline_ns, struct err *e)
{
	socklen_t n = sizeof(c->peer);

	c->peer = (union addr){0};
	if (getpeername(fd, &c->peer.sa, &n))
		c->peer.sa.sa_family = AF_UNSPEC; /* it is gone already, as will be seen */
	if (start(c, l, fd, SECURE_ACCEPTOR, t, deadline_ns, e))
		return -1;
	if (c->via && c->via->loop)
		listener_hold(c->via, c);
	return 0;
}
