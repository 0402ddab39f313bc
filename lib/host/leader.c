#include "lib/host/leader.h"
#include "lib/host/inventory_read.h"
#include "lib/host/leads.h"
#include "lib/host/sysroot.h"

#include <limits.h>
#include <linux/if.h>

enum {
	MAX_NICS = 32, /* messages of their own; for more of them the dump is as good */
	MAX_OPEN = 4,
	HASH_SIZE = 256, /* NETDEV_HASHENTRIES */
};

/* --- what has an address or a default route ------------------------------------- */

/* By what these drivers call themselves; whatever else is true of them, no NIC is behind. */
static const char *const light[] = {"veth", "macvlan", "ipvlan", "tun", "dummy"};

/* The best that its driver lets it be; an unknown one could be anything. */
static void take_driver(struct reading *r, struct iface *i)
{
	char driver[32];

	if (netlink_device_driver(r->nl, i->name, driver) < 0)
		return;
	for (size_t k = 0; k < ARRAY_LEN(light); k++) {
		if (!streq(driver, light[k]))
			continue;
		i->link_kind = light[k];
		i->kind = iface_kind_of(i);
		i->link_elsewhere = i->open = true;
		i->mtu = UINT_MAX;
	}
}

/* @contends: it has an address that a peer could use. NULL: it is gone. */
static struct iface *take_device(struct reading *r, int index, bool contends)
{
	struct inventory *inv = r->inv;
	struct iface *i = inventory_by_index(inv, index);
	struct netdev d;

	if (!i) {
		if (netlink_device(r->nl, index, &d) < 0)
			return NULL;
		i = LIST_ADD(inv->a, &inv->ifaces);
		*i = (struct iface){.index = index,
				    .name = arena_strdup(inv->a, d.name),
				    .kind = d.flags & IFF_LOOPBACK ? IFACE_LOOPBACK
								   : IFACE_PHYSICAL,
				    .flags = d.flags,
				    .carrier = -1,
				    .speed_mbps = -1,
				    .numa = -1};
		inventory_index_add(inv);
	}
	if (contends && !i->open && i->kind != IFACE_LOOPBACK)
		take_driver(r, i);
	return i;
}

/* Addresses come grouped by interface, once for each family. */
static size_t group_end(const struct inventory *inv, size_t k, bool *ret_usable)
{
	int index = inv->addrs.v[k].index;

	*ret_usable = false;
	for (; k < inv->addrs.n && inv->addrs.v[k].index == index; k++)
		*ret_usable |= iface_addr_is_usable(&inv->addrs.v[k]);
	return k;
}

static int take_devices(struct reading *r)
{
	struct inventory *inv = r->inv;
	size_t most = inv->defaults.n, nics = 0, end;
	struct iface *i;
	bool usable;

	for (size_t k = 0; k < inv->addrs.n; k++)
		most += k == 0 || inv->addrs.v[k].index != inv->addrs.v[k - 1].index;
	inventory_index_begin(inv, most);
	inv->ifaces.v = arena_alloc(inv->a, most * sizeof(*inv->ifaces.v));
	inv->ifaces.cap = most;
	for (size_t k = 0; k < inv->addrs.n; k = end) {
		end = group_end(inv, k, &usable);
		i = take_device(r, inv->addrs.v[k].index, usable);
		if (!i)
			return -1;
		/* once for each family at most; what is too many is better known soon */
		nics += usable && !i->open && iface_is_running(i);
		if (nics > (size_t)2 * MAX_NICS)
			return -1;
	}
	for (size_t k = 0; k < inv->defaults.n; k++) {
		if (!take_device(r, inv->defaults.v[k].index, false))
			return -1;
	}
	return 0;
}

/* --- the kernel's order -------------------------------------------------------- */

static int by_index(const void *p, const void *q)
{
	const struct iface *x = p, *y = q;

	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Links and addresses are dumped in one order: by index since Linux 6.9, and
 * before by the index modulo 256. IPv4's addresses show it for those that have
 * one; where a contender has none, it has to be the order of the indexes.
 */
static bool put_in_order(struct reading *r)
{
	struct inventory *inv = r->inv;
	bool by_v4 = true, rising = true, beyond_hash = false, small = true;
	size_t n4 = 0;

	while (n4 < inv->addrs.n && inv->addrs.v[n4].addr.sa.sa_family == AF_INET)
		n4++;
	for (size_t k = 0; k < inv->addrs.n; k++) {
		const struct iface_addr *x = &inv->addrs.v[k];
		int before = k > 0 && k != n4 ? x[-1].index : 0;

		if (k >= n4 && x->addr.sa.sa_family == AF_INET)
			return false;
		rising &= x->index >= before;
		small &= x->index < HASH_SIZE;
		beyond_hash |=
			k < n4 && x->index > before && x->index % HASH_SIZE < before % HASH_SIZE;
		if (k >= n4 && iface_addr_is_usable(x))
			by_v4 &= x->iface->addrs->addr.sa.sa_family == AF_INET;
	}
	if (by_v4)
		return true;
	if (!rising || !(small || beyond_hash))
		return false;
	qsort(inv->ifaces.v, inv->ifaces.n, sizeof(*inv->ifaces.v), by_index);
	inventory_index_links(inv);
	return reading_join(r) == 0;
}

/* --- contenders -------------------------------------------------------------------- */

struct one {
	struct inventory *inv;
	struct iface read; /* index 0: not yet */
	bool malformed;
};

static int take_one(const struct nlmsghdr *h, void *arg)
{
	struct one *x = arg;

	if (h->nlmsg_type == RTM_NEWLINK)
		x->malformed |= iface_fill(&x->read, h, x->inv->a) < 0;
	return 0;
}

/* The whole truth about @i; -1: it is another one by now. */
static int read_one(struct reading *r, struct iface *i)
{
	struct one x = {.inv = r->inv, .read = *i};
	const struct netlink_sink sink = {.each = take_one, .arg = &x};
	struct err ignored;

	x.read.index = 0;
	if (netlink_link(r->nl, i->index, &sink, &ignored) < 0 || x.malformed ||
	    x.read.index != i->index || !streq(x.read.name, i->name))
		return -1;
	*i = x.read;
	return 0;
}

struct ports {
	struct inventory *inv;
	int bridge;
	size_t before; /* interfaces without them */
	bool malformed;
};

/* A port is no contender, but tells what its bridge leads to. */
static int take_port(const struct nlmsghdr *h, void *arg)
{
	struct ports *p = arg;
	struct iface read = {0}, *known;

	if (h->nlmsg_type != RTM_NEWLINK)
		return 0;
	if (iface_fill(&read, h, p->inv->a) < 0) {
		p->malformed = true;
		return -1;
	}
	if (read.master != p->bridge)
		return 0;
	known = inventory_by_index(p->inv, read.index);
	*(known ? known : LIST_ADD(p->inv->a, &p->inv->ifaces)) = read;
	return 0;
}

static void forget_ports(void *arg)
{
	struct ports *p = arg;

	p->inv->ifaces.n = p->before;
}

static int read_ports(struct reading *r, int bridge)
{
	struct ports p = {.inv = r->inv, .bridge = bridge, .before = r->inv->ifaces.n};
	const struct netlink_sink sink = {.each = take_port, .restart = forget_ports, .arg = &p};
	struct err ignored;

	if (netlink_dump_ports(r->nl, bridge, &sink, &ignored) < 0 || p.malformed)
		return -1;
	inventory_index_links(r->inv);
	return reading_join(r) ? -1 : 0;
}

static int read_contenders(struct reading *r)
{
	struct inventory *inv = r->inv;
	size_t nics[MAX_NICS], n = 0;

	for (size_t k = 0; k < inv->ifaces.n; k++) {
		struct iface *i = &inv->ifaces.v[k];

		bool by_default =
			i->default_route4 || i->default_route6; /* will hardly be beaten */

		if ((i->open && !by_default) || !rank_is_usable(inv, i))
			continue;
		if (n == MAX_NICS)
			return -1;
		nics[n++] = k;
	}
	for (size_t k = 0; k < n; k++) {
		struct iface *i = &inv->ifaces.v[nics[k]];

		/* a part of something, or of Open vSwitch: what that is decides, too */
		if (read_one(r, i) < 0 || i->master || leads_through_switch(i))
			return -1;
		if (i->kind == IFACE_BRIDGE && read_ports(r, i->index) < 0)
			return -1;
	}
	return 0;
}

/* --- the first place ------------------------------------------------------------------ */

static int read_mtus(struct reading *r)
{
	for (size_t k = 0; k < r->inv->ifaces.n; k++) {
		struct iface *i = &r->inv->ifaces.v[k];

		if (i->open && netlink_device_mtu(r->nl, i->name, &i->mtu) < 0)
			return -1;
	}
	return 0;
}

/* NULL: all is known on which the first place rests. */
static struct iface *find_open(const candidate_list *all)
{
	for (size_t k = 0; k < rank_decisive(all); k++) {
		if (all->v[k].iface->open)
			return all->v[k].iface;
	}
	return NULL;
}

static int settle(struct reading *r, candidate_list *ret)
{
	for (int n = 0; n < MAX_OPEN; n++) {
		struct iface *i;
		enum iface_kind kind;

		rank_ifaces(r->inv, 0, ret);
		i = find_open(ret);
		if (!i)
			return ret->n && ret->v[0].usable ? 0 : -1;
		kind = i->kind;
		if ((n == 1 && read_mtus(r) < 0) || read_one(r, i) < 0 || i->kind != kind)
			return -1;
	}
	return -1;
}

static int read_links(struct reading *r)
{
	struct err ignored;

	r->inv->ifaces.n = 0;
	if (reading_links(r, &ignored) < 0)
		return -1;
	inventory_index_links(r->inv);
	return reading_join(r) ? -1 : LEADER_WHOLE;
}

int leader_read(struct inventory *inv, struct netlink *nl, struct arena *a, candidate_list *ret)
{
	struct reading r = {.inv = inv, .nl = nl};
	struct err ignored;

	*inv = (struct inventory){.a = a};
	if (nl->recorded || reading_addrs(&r, &ignored) < 0 ||
	    reading_routes(&r, false, &ignored) < 0)
		return -1;
	inv->hostname = sysroot_hostname(a);
	if (take_devices(&r) < 0)
		return read_links(&r);
	if (reading_join(&r))
		return -1;
	if (!put_in_order(&r) || read_contenders(&r) < 0 || settle(&r, ret) < 0)
		return read_links(&r);
	return LEADER_KNOWN;
}
