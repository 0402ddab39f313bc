#include "lib/net/own_addr.h"

#include <ifaddrs.h>
#include <net/if.h>

static const struct ifaddrs *find(const struct ifaddrs *list, const union addr *a)
{
	union addr x;

	for (; list; list = list->ifa_next) {
		int family = list->ifa_addr ? list->ifa_addr->sa_family : AF_UNSPEC;

		if (family != AF_INET && family != AF_INET6)
			continue;
		memcpy(&x, list->ifa_addr, family == AF_INET ? sizeof(x.v4) : sizeof(x.v6));
		if (addr_equal(a, &x))
			return list;
	}
	return NULL;
}

static bool can_bind(union addr a)
{
	AUTO_CLOSE int fd = socket(a.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	addr_set_port(&a, 0);
	return fd >= 0 && !bind(fd, &a.sa, addr_len(&a));
}

/* With net.ipv4.ip_nonlocal_bind also one that nobody has: then it says nothing. */
static bool is_bound_only_here(const union addr *a)
{
	union addr nobodys;

	return can_bind(*a) &&
	       !addr_parse(a->sa.sa_family == AF_INET ? "192.0.2.1" : "2001:db8::1", &nobodys) &&
	       !can_bind(nobodys);
}

bool own_addr(const union addr *a)
{
	const union addr plain = addr_unmapped(a);
	struct ifaddrs *list;
	bool found;

	if (getifaddrs(&list))
		return is_bound_only_here(&plain);
	found = find(list, &plain) != NULL;
	freeifaddrs(list);
	return found;
}

const char *own_addr_interface(const union addr *a, struct arena *arena)
{
	const struct ifaddrs *has;
	struct ifaddrs *list;
	const char *name = NULL;

	if (getifaddrs(&list))
		return NULL;
	has = find(list, a);
	if (has && !(has->ifa_flags & IFF_LOOPBACK))
		name = arena_strdup(arena, has->ifa_name);
	freeifaddrs(list);
	return name;
}
