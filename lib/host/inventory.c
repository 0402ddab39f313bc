#include "lib/host/inventory_read.h"
#include "lib/host/sysroot.h"

#include <linux/if_addr.h>
#include <netlink/msg.h>

enum { TRIES = 4 };

static int malformed(struct reading *r)
{
	r->malformed = true;
	return -1;
}

static int take_link(const struct nlmsghdr *h, void *arg)
{
	struct reading *r = arg;
	struct iface i = {0};

	if (h->nlmsg_type != RTM_NEWLINK)
		return 0;
	if (iface_fill(&i, h, r->inv->a) < 0)
		return malformed(r);
	*LIST_ADD(r->inv->a, &r->inv->ifaces) = i;
	return 0;
}

static size_t addr_bytes(int family) { return family == AF_INET ? 4 : 16; }

/* -1: @from is missing or too short. */
static int fill_addr(union addr *ret, int family, const struct nlattr *from, int index)
{
	if ((family != AF_INET && family != AF_INET6) || !from ||
	    (size_t)nla_len(from) < addr_bytes(family))
		return -1;
	*ret = (union addr){.sa.sa_family = (sa_family_t)family};
	if (family == AF_INET) {
		memcpy(&ret->v4.sin_addr, nla_data(from), sizeof(ret->v4.sin_addr));
		return 0;
	}
	memcpy(&ret->v6.sin6_addr, nla_data(from), sizeof(ret->v6.sin6_addr));
	if (IN6_IS_ADDR_LINKLOCAL(&ret->v6.sin6_addr))
		ret->v6.sin6_scope_id = (uint32_t)index;
	return 0;
}

static int take_addr(const struct nlmsghdr *h, void *arg)
{
	struct reading *r = arg;
	struct nlattr *tb[IFA_MAX + 1];
	const struct ifaddrmsg *m = nlmsg_data(h);
	struct iface_addr *x;
	union addr addr;

	if (h->nlmsg_type != RTM_NEWADDR)
		return 0;
	if (netlink_attrs(h, sizeof(*m), tb, IFA_MAX) < 0)
		return malformed(r);
	/* IFA_ADDRESS is the other end's on a point-to-point link. */
	if (fill_addr(&addr, m->ifa_family, tb[tb[IFA_LOCAL] ? IFA_LOCAL : IFA_ADDRESS],
		      (int)m->ifa_index) < 0 ||
	    m->ifa_prefixlen > addr_bytes(m->ifa_family) * 8)
		return 0;
	x = LIST_ADD(r->inv->a, &r->inv->addrs);
	*x = (struct iface_addr){.index = (int)m->ifa_index,
				 .addr = addr,
				 .prefix = m->ifa_prefixlen,
				 .scope = m->ifa_scope,
				 .flags = netlink_u32(tb[IFA_FLAGS], m->ifa_flags)};
	if (tb[IFA_LABEL])
		x->label = arena_strndup(
			r->inv->a, nla_data(tb[IFA_LABEL]),
			strnlen(nla_data(tb[IFA_LABEL]), (size_t)nla_len(tb[IFA_LABEL])));
	return 0;
}

static void add_default(struct reading *r, int family, int oif, const struct nlattr *gateway,
			unsigned metric)
{
	struct default_route *d = LIST_ADD(r->inv->a, &r->inv->defaults);

	*d = (struct default_route){.family = family, .index = oif, .metric = metric};
	d->has_gateway = fill_addr(&d->gateway, family, gateway, oif) == 0;
}

/* One default route over several interfaces. */
static void add_nexthops(struct reading *r, int family, const struct nlattr *list, unsigned metric)
{
	const char *at = nla_data(list);
	size_t left = (size_t)nla_len(list);
	struct rtnexthop nh;

	for (; left >= sizeof(nh);
	     at += NLMSG_ALIGN(nh.rtnh_len), left -= NLMSG_ALIGN(nh.rtnh_len)) {
		memcpy(&nh, at, sizeof(nh));
		if (nh.rtnh_len < sizeof(nh) || NLMSG_ALIGN(nh.rtnh_len) > left)
			return;
		add_default(r, family, nh.rtnh_ifindex,
			    nla_find((const void *)(at + sizeof(nh)),
				     (int)(nh.rtnh_len - sizeof(nh)), RTA_GATEWAY),
			    metric);
	}
}

static int take_route(const struct nlmsghdr *h, void *arg)
{
	struct reading *r = arg;
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *m = nlmsg_data(h);
	unsigned metric;

	if (h->nlmsg_type != RTM_NEWROUTE || nlmsg_datalen(h) < (int)sizeof(*m) ||
	    m->rtm_dst_len != 0 || m->rtm_type != RTN_UNICAST)
		return 0;
	if (netlink_attrs(h, sizeof(*m), tb, RTA_MAX) < 0)
		return malformed(r);
	if (netlink_u32(tb[RTA_TABLE], m->rtm_table) != RT_TABLE_MAIN)
		return 0;
	metric = netlink_u32(tb[RTA_PRIORITY], 0);
	if (tb[RTA_OIF])
		add_default(r, m->rtm_family, (int)netlink_u32(tb[RTA_OIF], 0), tb[RTA_GATEWAY],
			    metric);
	else if (tb[RTA_MULTIPATH])
		add_nexthops(r, m->rtm_family, tb[RTA_MULTIPATH], metric);
	return 0;
}

static void forget_links(void *arg) { ((struct reading *)arg)->inv->ifaces.n = 0; }
static void forget_addrs(void *arg) { ((struct reading *)arg)->inv->addrs.n = 0; }

static void forget_routes(void *arg)
{
	struct reading *r = arg;

	r->inv->defaults.n = r->defaults_before;
}

static int dump(struct reading *r, int type, int family,
		int (*each)(const struct nlmsghdr *h, void *arg), void (*restart)(void *arg),
		struct err *e)
{
	const struct netlink_sink sink = {.each = each, .restart = restart, .arg = r};

	if (netlink_dump(r->nl, type, family, &sink, e) < 0)
		return -1;
	if (r->malformed)
		return err_set(e, ERR_SYS, "%s: a netlink message makes no sense",
			       r->nl->recorded ? r->nl->recorded : "the kernel");
	return 0;
}

int reading_links(struct reading *r, struct err *e)
{
	return dump(r, RTM_GETLINK, AF_UNSPEC, take_link, forget_links, e);
}

int reading_addrs(struct reading *r, struct err *e)
{
	return dump(r, RTM_GETADDR, AF_UNSPEC, take_addr, forget_addrs, e);
}

static int dump_routes(struct reading *r, int family, struct err *e)
{
	r->defaults_before = r->inv->defaults.n;
	return dump(r, RTM_GETROUTE, family, take_route, forget_routes, e);
}

static bool has_ipv6(const struct inventory *inv)
{
	for (size_t k = inv->addrs.n; k-- > 0;) {
		const struct iface_addr *x = &inv->addrs.v[k];

		if (x->addr.sa.sa_family == AF_INET6 && iface_addr_is_usable(x))
			return true;
	}
	return false;
}

int reading_routes(struct reading *r, bool always, struct err *e)
{
	if (dump_routes(r, AF_INET, e) < 0)
		return -1;
	/* Every interface has an fe80 route, a sixteenth of our time at a thousand of them. */
	return always || has_ipv6(r->inv) ? dump_routes(r, AF_INET6, e) : 0;
}

static size_t join_addrs(struct inventory *inv)
{
	size_t n = inv->addrs.n, kept = 0;

	for (size_t k = 0; k < n; k++) {
		struct iface_addr *x = &inv->addrs.v[kept];

		*x = inv->addrs.v[k];
		x->iface = inventory_by_index(inv, x->index);
		if (!x->iface)
			continue;
		kept++;
		if (!x->label || streq(x->label, x->iface->name))
			x->label = x->iface->name;
	}
	inv->addrs.n = kept;
	for (size_t k = kept; k-- > 0;) {
		struct iface_addr *x = &inv->addrs.v[k];

		x->next = x->iface->addrs;
		x->iface->addrs = x;
		x->iface->naddrs++;
	}
	return n - kept;
}

static void note_default(bool *known, unsigned *metric, const struct default_route *d)
{
	*metric = *known && *metric < d->metric ? *metric : d->metric;
	*known = true;
}

static size_t join_defaults(struct inventory *inv)
{
	size_t n = inv->defaults.n, kept = 0;

	for (size_t k = 0; k < n; k++) {
		struct default_route *d = &inv->defaults.v[kept];
		struct iface *i;

		*d = inv->defaults.v[k];
		i = d->iface = inventory_by_index(inv, d->index);
		if (!i)
			continue;
		kept++;
		if (d->family == AF_INET)
			note_default(&i->default_route4, &i->default_metric4, d);
		else
			note_default(&i->default_route6, &i->default_metric6, d);
	}
	inv->defaults.n = kept;
	return n - kept;
}

size_t reading_join(struct reading *r)
{
	struct inventory *inv = r->inv;

	for (size_t k = 0; k < inv->ifaces.n; k++) {
		struct iface *i = &inv->ifaces.v[k];

		i->addrs = NULL;
		i->naddrs = 0;
		i->default_route4 = i->default_route6 = false;
	}
	return join_addrs(inv) + join_defaults(inv);
}

static int read_once(struct reading *r, unsigned parts, struct err *e)
{
	struct inventory *inv = r->inv;

	inv->ifaces.n = inv->addrs.n = inv->defaults.n = 0;
	if (reading_links(r, e) < 0)
		return -1;
	inventory_index_links(inv);
	if ((parts & INV_ADDRS) && reading_addrs(r, e) < 0)
		return -1;
	return parts & INV_ROUTES ? reading_routes(r, !(parts & INV_ADDRS), e) : 0;
}

int inventory_read(struct inventory *inv, struct netlink *nl, unsigned parts, struct arena *a,
		   struct err *e)
{
	struct reading r = {.inv = inv, .nl = nl};
	int tries = nl->recorded ? 1 : TRIES;

	*inv = (struct inventory){.a = a};
	do {
		if (read_once(&r, parts, e) < 0)
			return -1;
	} while (reading_join(&r) && --tries > 0);
	inv->hostname = sysroot_hostname(a);
	return 0;
}
