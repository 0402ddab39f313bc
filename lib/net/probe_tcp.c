#include "lib/net/probe_tcp.h"

#include "lib/core/units.h"

#include <errno.h>
#include <net/if.h>
#include <sys/epoll.h>

enum { DEFAULT_PARALLEL = 256 };

struct tcp_probe_run {
	struct loop loop;
	struct tcp_probe *v;
	size_t n, next;
	size_t flying, parallel;
	struct err *e;
	bool failed;
};

const char *tcp_state_name(enum tcp_state s)
{
	static const char *const names[] = {
		[TCP_PENDING] = "pending",	   [TCP_OPEN] = "open",
		[TCP_REFUSED] = "refused",	   [TCP_FILTERED] = "filtered",
		[TCP_UNREACHABLE] = "unreachable", [TCP_ERROR] = "error",
	};

	return names[s];
}

/* The kernel's own table of what an ICMP error becomes is icmp_err_convert. */
enum tcp_state tcp_state_of(int error)
{
	switch (error) {
	case 0:
		return TCP_OPEN;
	case ECONNREFUSED:
	case ECONNRESET: /* a SYN proxy opened it before it asked the host, which refused */
		return TCP_REFUSED;
	case ETIMEDOUT:
		return TCP_FILTERED;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENONET:
	case ENOPROTOOPT:
	case EACCES: /* a "prohibit" route; ICMPv6 administratively prohibited */
	case EPERM:  /* this host's own firewall */
		return TCP_UNREACHABLE;
	default:
		return TCP_ERROR;
	}
}

static void conclude(struct tcp_probe *p, enum tcp_state state, int error)
{
	p->took_ns = now_ns() - p->started_ns;
	p->state = state;
	p->error = error;
	loop_disarm(&p->run->loop, &p->timer);
	if (p->io.fd < 0)
		return;
	loop_del(&p->run->loop, &p->io);
	(void)close(p->io.fd);
	p->io.fd = -1;
}

static int pending_error(const struct tcp_probe *p)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(p->io.fd, SOL_SOCKET, SO_ERROR, &error, &len) ? errno : error;
}

/*
 * A connect to an ephemeral port of this host may meet itself (simultaneous
 * open): it then looks open though nobody listens.
 */
static bool met_itself(const struct tcp_probe *p)
{
	union addr peer = {0}, local = {0};
	socklen_t peer_len = sizeof(peer), local_len = sizeof(local);

	return !getpeername(p->io.fd, &peer.sa, &peer_len) &&
	       !getsockname(p->io.fd, &local.sa, &local_len) && addr_equal(&peer, &local) &&
	       addr_port(&peer) == addr_port(&local);
}

/* The kernel cuts a name that is too long, and takes "" for "any device". */
static int pin_to_device(struct tcp_probe *p)
{
	size_t n = strlen(p->device);

	if (n && n < IFNAMSIZ)
		return setsockopt(p->io.fd, SOL_SOCKET, SO_BINDTODEVICE, p->device, (socklen_t)n);
	errno = ENODEV;
	return -1;
}

/* Before Linux 5.7 SO_BINDTODEVICE needs CAP_NET_RAW; the source address is the next best. */
static int pin(struct tcp_probe *p)
{
	if (p->device) {
		p->bound_to_device = !pin_to_device(p);
		if (p->bound_to_device)
			return 0;
		if (errno != EPERM || !p->source)
			return -1;
	}
	return p->source ? addr_bind_source(p->io.fd, p->source) : 0;
}

static union addr destination(const struct tcp_probe *p)
{
	union addr to = p->to;

	if (p->device && to.sa.sa_family == AF_INET6 && !to.v6.sin6_scope_id &&
	    IN6_IS_ADDR_LINKLOCAL(&to.v6.sin6_addr))
		to.v6.sin6_scope_id = if_nametoindex(p->device);
	return to;
}

static void note_local(struct tcp_probe *p)
{
	static const unsigned char none[16];
	socklen_t len = sizeof(p->local);
	const union addr *l = &p->local;

	/* A connect refused at once has already been given up and its address reset. */
	if (getsockname(p->io.fd, &p->local.sa, &len) ||
	    (l->sa.sa_family == AF_INET && !l->v4.sin_addr.s_addr) ||
	    (l->sa.sa_family == AF_INET6 && !memcmp(&l->v6.sin6_addr, none, sizeof(none))))
		p->local = (union addr){0};
}

static void launch(struct tcp_probe_run *run);

static void finish(struct tcp_probe *p, int error)
{
	bool itself = !error && met_itself(p);

	conclude(p, itself ? TCP_REFUSED : tcp_state_of(error), itself ? ECONNREFUSED : error);
	p->run->flying--;
	launch(p->run);
}

static void answered(struct loop *l, struct io *io, uint32_t events)
{
	struct tcp_probe *p = CONTAINER_OF(io, struct tcp_probe, io);

	(void)l;
	(void)events;
	finish(p, pending_error(p));
}

/* The kernel may know more than silence: an ICMP error that it kept as a soft one. */
static void too_late(struct loop *l, struct timer *t)
{
	struct tcp_probe *p = CONTAINER_OF(t, struct tcp_probe, timer);
	int error = pending_error(p);

	(void)l;
	finish(p, error ? error : ETIMEDOUT);
}

/* 1: in flight; 0: concluded at once; -1: the loop cannot hold it. */
static int start(struct tcp_probe *p, struct tcp_probe_run *run)
{
	union addr to = destination(p);
	int rc;

	if (pin(p)) {
		conclude(p, TCP_ERROR, errno);
		return 0;
	}
	p->started_ns = now_ns();
	rc = connect(p->io.fd, &to.sa, addr_len(&to));
	if (rc && errno != EINPROGRESS) {
		conclude(p, tcp_state_of(errno), errno);
		return 0;
	}
	note_local(p);
	if (loop_add(&run->loop, &p->io, EPOLLOUT, run->e) ||
	    loop_arm(&run->loop, &p->timer, p->deadline_ns, run->e))
		return -1;
	return 1;
}

/* False: no descriptor is free now, but one will be. */
static bool take_socket(struct tcp_probe *p, struct tcp_probe_run *run)
{
	p->run = run;
	p->started_ns = now_ns();
	p->io = (struct io){.ready = answered};
	p->timer = (struct timer){.fire = too_late};
	p->state = TCP_PENDING;
	p->bound_to_device = false;
	p->local = (union addr){0};
	p->io.fd = socket(p->to.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->io.fd >= 0)
		return true;
	if ((errno == EMFILE || errno == ENFILE) && run->flying)
		return false;
	conclude(p, TCP_ERROR, errno);
	return true;
}

static void launch(struct tcp_probe_run *run)
{
	while (!run->failed && run->next < run->n && run->flying < run->parallel) {
		struct tcp_probe *p = &run->v[run->next];
		int rc;

		if (!take_socket(p, run))
			return;
		run->next++;
		rc = p->state == TCP_PENDING ? start(p, run) : 0;
		run->flying += rc > 0;
		run->failed = rc < 0;
	}
	if (run->failed)
		loop_stop(&run->loop);
}

static void give_up_rest(struct tcp_probe_run *run)
{
	for (size_t i = 0; i < run->next; i++)
		if (run->v[i].io.fd >= 0)
			conclude(&run->v[i], TCP_PENDING, EINTR);
	for (size_t i = run->next; i < run->n; i++)
		run->v[i].state = TCP_PENDING;
}

int tcp_probe_all(struct tcp_probe *v, size_t n, size_t parallel, struct err *e)
{
	struct tcp_probe_run run = {
		.v = v,
		.n = n,
		.parallel = parallel ? parallel : DEFAULT_PARALLEL,
		.e = e,
	};
	int rc;

	if (loop_init(&run.loop, e))
		return -1;
	launch(&run);
	rc = run.failed ? -1 : loop_run(&run.loop, e);
	give_up_rest(&run);
	loop_done(&run.loop);
	return run.failed ? -1 : rc;
}
