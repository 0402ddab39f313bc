#include "lib/host/nat.h"

#include "lib/host/sysroot.h"

static uint32_t number(const union addr *x)
{
	return x->sa.sa_family == AF_INET ? ntohl(x->v4.sin_addr.s_addr) : 0;
}

static bool is_hypervisors(const struct iface_addr *x, const union addr *gateway)
{
	enum { PREFIX = 24, GUEST = 15, GATEWAY = 2, FIRST = 2, LAST = 9 };

	uint32_t own = number(&x->addr), n = own >> 8 & 0xff;

	return x->prefix == PREFIX && own >> 16 == (10 << 8) && n >= FIRST && n <= LAST &&
	       (own & 0xff) == GUEST && number(gateway) == own - GUEST + GATEWAY;
}

static bool is_windows(const struct iface_addr *x, const union addr *gateway)
{
	enum { PREFIX = 20 };

	uint32_t network = number(&x->addr) >> (32 - PREFIX) << (32 - PREFIX);

	return x->prefix == PREFIX && network && number(gateway) == network + 1;
}

bool nat_is_windows(struct arena *a)
{
	const char *kernel = sysroot_line(a, "/proc/sys/kernel/osrelease");

	/* loopback0 is there where cards are mirrored, and leads to Windows itself. */
	return kernel && (strstr(kernel, "microsoft-standard") || strstr(kernel, "WSL2")) &&
	       !sysroot_exists("/sys/class/net/loopback0");
}

bool nat_is_own(const struct inventory *inv, const struct iface *i)
{
	for (size_t k = 0; k < inv->defaults.n; k++) {
		const struct default_route *d = &inv->defaults.v[k];

		if (!d->has_gateway || d->index != i->index)
			continue;
		for (const struct iface_addr *x = i->addrs; x; x = x->next)
			if (is_hypervisors(x, &d->gateway) ||
			    (is_windows(x, &d->gateway) && nat_is_windows(inv->a)))
				return true;
	}
	return false;
}
