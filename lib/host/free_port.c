#include "lib/host/free_port.h"

#include "lib/host/sysroot.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { FIRST = 1024, LAST = 65535 };

void free_ports_read(struct free_ports *f, struct arena *a)
{
	*f = (struct free_ports){
		.range = port_range_read(a),
		.reserved = sysroot_line(a, "/proc/sys/net/ipv4/ip_local_reserved_ports") ?: ""};
}

static bool is_listed(const char *list, unsigned port)
{
	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (port >= first && port <= last)
			return true;
		list = end + (*end == ',');
		if (list == end) /* it ends, or is no list */
			return false;
	}
	return false;
}

/* What the kernel does not have, nobody listens with. A program that listens says SO_REUSEADDR,
 * and so may take what an ended connection still holds. */
static bool can_bind(int family, const struct sockaddr *at, socklen_t n)
{
	AUTO_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd < 0)
		return errno == EAFNOSUPPORT;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* beside another that does not listen yet bind() alone would do */
	return (!bind(fd, at, n) && !listen(fd, 1)) || errno == EADDRNOTAVAIL;
}

static bool can_take(uint16_t port)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (!sysroot_is_real())
		return true;
	return can_bind(AF_INET, (const struct sockaddr *)&v4, sizeof(v4)) &&
	       can_bind(AF_INET6, (const struct sockaddr *)&v6, sizeof(v6));
}

bool free_ports_has(const struct free_ports *f, uint16_t port)
{
	return !(port >= f->range.first && port <= f->range.last) &&
	       !is_listed(f->reserved, port) && can_take(port);
}

bool free_ports_keeps(const struct free_ports *f, uint16_t port)
{
	return is_listed(f->reserved, port) && can_take(port);
}

uint16_t free_ports_next(const struct free_ports *f, uint16_t from)
{
	unsigned first = from < FIRST ? FIRST : from;

	for (unsigned i = 0; i <= LAST - FIRST; i++) {
		unsigned port = first + i > LAST ? first + i - LAST - 1 + FIRST : first + i;

		if (free_ports_has(f, (uint16_t)port))
			return (uint16_t)port;
	}
	return 0;
}
