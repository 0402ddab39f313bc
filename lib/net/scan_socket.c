/* One socket of a scan, and what an error on it says. */
#include "lib/net/scan.h"

#include "lib/core/units.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <net/if.h>
#include <netinet/tcp.h>

/* The kernel cuts a name that is too long, and takes "" for "any device". */
static int bind_to(int fd, const char *device)
{
	size_t n = strlen(device);

	if (n && n < IFNAMSIZ)
		return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)n);
	errno = ENODEV;
	return -1;
}

/* Once it is closed the port is free for the same question again. */
static int take_port(int fd, const struct scan_probe *p, const struct scan_opts *o)
{
	const struct linger none = {.l_onoff = 1};
	union addr at = {.sa.sa_family = p->to.sa.sa_family};

	if (o->source)
		at = *o->source;
	addr_set_port(&at, p->from_port);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	return bind(fd, &at.sa, addr_len(&at));
}

static const char *device_of(const struct scan_probe *p, const struct scan_opts *o)
{
	return p->from ? p->from->device : o->device;
}

/* An address of the device does only where the device itself is not to be had: to some peers the
 * kernel takes another. */
static int pin_from(int fd, const struct scan_from *from)
{
	if (!bind_to(fd, from->device))
		return 0;
	return errno == EPERM && from->source ? addr_bind_source(fd, from->source) : -1;
}

static int pin(int fd, const struct scan_probe *p, const struct scan_opts *o)
{
	if (p->from)
		return pin_from(fd, p->from);
	if (o->device && bind_to(fd, o->device))
		return -1;
	if (o->source && o->source->sa.sa_family != p->to.sa.sa_family) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	if (p->from_port)
		return take_port(fd, p, o);
	return o->source ? addr_bind_source(fd, o->source) : 0;
}

static void ask_for_icmp(int fd, int family)
{
	static const int on = 1;

	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
	else
		(void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
}

static union addr destination(const struct scan_probe *p, const struct scan_opts *o)
{
	const char *device = device_of(p, o);
	union addr to = p->to;

	if (device && to.sa.sa_family == AF_INET6 && !to.v6.sin6_scope_id &&
	    IN6_IS_ADDR_LINKLOCAL(&to.v6.sin6_addr))
		to.v6.sin6_scope_id = if_nametoindex(device);
	return to;
}

int scan_socket(struct scan_probe *p, int type, const struct scan_opts *o)
{
	int family = p->to.sa.sa_family;
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	union addr to;

	p->unsent = fd < 0;
	if (fd < 0)
		return -1;
	ask_for_icmp(fd, family);
	to = destination(p, o);
	p->unsent = pin(fd, p, o) != 0;
	if (p->unsent || (connect(fd, &to.sa, addr_len(&to)) && errno != EINPROGRESS)) {
		int error = errno;

		/* An answer that was quicker than connect() itself has its message here. */
		(void)scan_error(fd, p);
		(void)close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* An error of no other meaning that came in a message is the network's, not ours; that of a
 * socket() that a sandbox refused looks like a firewall's, and is ours. */
static enum tcp_state state_of(const struct scan_probe *p, int error)
{
	enum tcp_state state = tcp_state_of(error);

	if (p->unsent)
		return TCP_ERROR;
	return state == TCP_ERROR && p->by.sa.sa_family ? TCP_UNREACHABLE : state;
}

/* The kernel timed the handshake itself, and without our own delay in looking. */
static uint32_t handshake_us(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) || info.tcpi_total_retrans)
		return 0;
	return info.tcpi_rtt;
}

void scan_conclude(struct scan_probe *p, int fd, int error, uint64_t started_ns)
{
	uint32_t rtt = error ? 0 : handshake_us(fd);

	p->took_us = rtt ? rtt : (uint32_t)((now_ns() - started_ns) / 1000);
	p->error = error;
	p->state = state_of(p, error);
}

static void take_message(struct msghdr *m, struct scan_probe *p)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		const struct sock_extended_err *x = (const void *)CMSG_DATA(c);
		bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
		bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;

		if ((!v4 && !v6) ||
		    (x->ee_origin != SO_EE_ORIGIN_ICMP && x->ee_origin != SO_EE_ORIGIN_ICMP6))
			continue;
		p->icmp_type = x->ee_type;
		p->icmp_code = x->ee_code;
		memcpy(&p->by, SO_EE_OFFENDER(x), v4 ? sizeof(p->by.v4) : sizeof(p->by.v6));
	}
}

int scan_error(int fd, struct scan_probe *p)
{
	char control[256], byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len))
		return errno;
	if (error && recvmsg(fd, &m, MSG_ERRQUEUE) >= 0)
		take_message(&m, p);
	return error;
}
