#include "lib/host/nat.h"

const char nat_words[] =
	"the translated network (NAT) that a virtual machine has for itself, where "
	"no other host reaches it";

enum { PREFIX = 24, GUEST = 15, GATEWAY = 2, FIRST = 2, LAST = 9 };

/* 10.0.N.@last: its N, or -1. */
static int network_of(const union addr *x, unsigned last)
{
	uint32_t v = x->sa.sa_family == AF_INET ? ntohl(x->v4.sin_addr.s_addr) : 0;
	int n = (int)(v >> 8 & 0xff);

	return v >> 16 == (10 << 8) && (v & 0xff) == last && n >= FIRST && n <= LAST ? n : -1;
}

static int guest_network(const struct iface *i)
{
	for (const struct iface_addr *x = i->addrs; x; x = x->next)
		if (x->prefix == PREFIX && network_of(&x->addr, GUEST) >= 0)
			return network_of(&x->addr, GUEST);
	return -1;
}

bool nat_is_own(const struct inventory *inv, const struct iface *i)
{
	int n = guest_network(i);

	for (size_t k = 0; n >= 0 && k < inv->defaults.n; k++) {
		const struct default_route *d = &inv->defaults.v[k];

		if (d->has_gateway && d->index == i->index && network_of(&d->gateway, GATEWAY) == n)
			return true;
	}
	return false;
}
