#include "lib/host/inventory.h"
#include "lib/host/sysroot.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netlink/msg.h>

enum { TRIES = 4 };
/* IFLA_PARENT_DEV_NAME and _BUS_NAME, Linux 5.14: older headers lack the names. */
enum { PARENT_DEV_NAME = 56, PARENT_DEV_BUS_NAME = 57, LINK_ATTRS = PARENT_DEV_BUS_NAME };

struct reading {
	struct inventory *inv;
	size_t strangers; /* messages that name an interface we have not seen */
	size_t defaults_before;
	bool malformed;
};

static int malformed(struct reading *r)
{
	r->malformed = true;
	return -1;
}

/* Bounded: a recorded text may lack its NUL. */
static const char *take_text(struct arena *a, struct nlattr *from)
{
	size_t n = strnlen(nla_data(from), (size_t)nla_len(from));

	return arena_strndup(a, nla_data(from), n);
}

/* As the kernel's dev_valid_name(): names become paths below /sys. */
static bool is_valid_name(const char *s)
{
	return *s && strlen(s) < IFNAMSIZ && !strchr(s, '/') && !streq(s, ".") && !streq(s, "..");
}

static const char *mac_text(struct arena *a, struct nlattr *from)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *mac = nla_data(from);
	size_t n = (size_t)nla_len(from);
	char *s, *p;
	bool any = false;

	if (n == 0 || n > 32)
		return NULL;
	p = s = arena_alloc(a, n * 3);
	for (size_t i = 0; i < n; i++) {
		any |= mac[i] != 0;
		*p++ = hex[mac[i] >> 4];
		*p++ = hex[mac[i] & 15];
		*p++ = i + 1 < n ? ':' : '\0';
	}
	return any ? s : NULL;
}

static void take_altnames(struct arena *a, struct iface *i, struct nlattr *list)
{
	struct nlattr *one;
	int left;

	nla_for_each_nested(one, list, left)
	{
		if (nla_type(one) == IFLA_ALT_IFNAME && nla_len(one) > 0)
			*LIST_ADD(a, &i->altnames) = take_text(a, one);
	}
}

static void take_kind(struct arena *a, struct iface *i, struct nlattr *info)
{
	struct nlattr *kind = nla_find(nla_data(info), nla_len(info), IFLA_INFO_KIND);

	if (kind && nla_len(kind) > 0)
		i->link_kind = take_text(a, kind);
}

static void fill_link(struct arena *a, struct iface *i, struct nlattr *const *tb)
{
	int link = (int)netlink_u32(tb[IFLA_LINK], 0);

	i->mtu = netlink_u32(tb[IFLA_MTU], 0);
	i->master = (int)netlink_u32(tb[IFLA_MASTER], 0);
	i->operstate = netlink_u8(tb[IFLA_OPERSTATE], 0);
	i->carrier = tb[IFLA_CARRIER] ? netlink_u8(tb[IFLA_CARRIER], 0) != 0 : -1;
	i->link_elsewhere = tb[IFLA_LINK_NETNSID] != NULL;
	/* In another namespace it is a number of that namespace's. */
	if (!i->link_elsewhere && link != i->index)
		i->link = link;
	if (tb[IFLA_ADDRESS])
		i->mac = mac_text(a, tb[IFLA_ADDRESS]);
	if (tb[IFLA_LINKINFO])
		take_kind(a, i, tb[IFLA_LINKINFO]);
	if (tb[IFLA_PROP_LIST])
		take_altnames(a, i, tb[IFLA_PROP_LIST]);
	if (tb[PARENT_DEV_NAME] && tb[PARENT_DEV_BUS_NAME]) {
		i->device = take_text(a, tb[PARENT_DEV_NAME]);
		i->bus = take_text(a, tb[PARENT_DEV_BUS_NAME]);
	}
}

static int take_link(const struct nlmsghdr *h, void *arg)
{
	struct reading *r = arg;
	struct arena *a = r->inv->a;
	struct nlattr *tb[LINK_ATTRS + 1];
	const struct ifinfomsg *m = nlmsg_data(h);
	struct iface *i;
	const char *name;

	if (h->nlmsg_type != RTM_NEWLINK)
		return 0;
	if (netlink_attrs(h, sizeof(*m), tb, LINK_ATTRS) < 0 || !tb[IFLA_IFNAME] ||
	    m->ifi_index <= 0)
		return malformed(r);
	name = take_text(a, tb[IFLA_IFNAME]);
	if (!is_valid_name(name))
		return malformed(r);
	i = LIST_ADD(a, &r->inv->ifaces);
	*i = (struct iface){.index = m->ifi_index,
			    .name = name,
			    .flags = m->ifi_flags,
			    .type = m->ifi_type,
			    .speed_mbps = -1,
			    .numa = -1};
	fill_link(a, i, tb);
	i->kind = iface_kind_of(i);
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
	struct iface *i;
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
	i = inventory_by_index(r->inv, (int)m->ifa_index);
	if (!i) {
		r->strangers++;
		return 0;
	}
	x = LIST_ADD(r->inv->a, &r->inv->addrs);
	*x = (struct iface_addr){.iface = i,
				 .label = i->name,
				 .addr = addr,
				 .prefix = m->ifa_prefixlen,
				 .scope = m->ifa_scope,
				 .flags = netlink_u32(tb[IFA_FLAGS], m->ifa_flags)};
	if (tb[IFA_LABEL] && nla_strcmp(tb[IFA_LABEL], i->name) != 0)
		x->label = take_text(r->inv->a, tb[IFA_LABEL]);
	return 0;
}

static void add_default(struct reading *r, int family, int oif, const struct nlattr *gateway,
			unsigned metric)
{
	struct iface *i = inventory_by_index(r->inv, oif);
	struct default_route *d;
	bool first;

	if (!i) {
		r->strangers++;
		return;
	}
	d = LIST_ADD(r->inv->a, &r->inv->defaults);
	*d = (struct default_route){.family = family, .iface = i, .metric = metric};
	d->has_gateway = fill_addr(&d->gateway, family, gateway, oif) == 0;
	first = !i->default_route4 && !i->default_route6;
	i->default_route4 |= family == AF_INET;
	i->default_route6 |= family == AF_INET6;
	if (first || metric < i->default_metric)
		i->default_metric = metric;
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

static void forget_addrs(void *arg)
{
	struct reading *r = arg;

	r->inv->addrs.n = 0;
	r->strangers = 0;
}

static void forget_routes(void *arg)
{
	struct reading *r = arg;

	r->inv->defaults.n = r->defaults_before;
}

static int dump(struct reading *r, struct netlink *nl, int type, int family,
		int (*each)(const struct nlmsghdr *h, void *arg), void (*restart)(void *arg),
		struct err *e)
{
	if (netlink_dump(nl, type, family, each, restart, r, e) < 0)
		return -1;
	if (r->malformed)
		return err_set(e, ERR_SYS, "%s: a netlink message makes no sense",
			       nl->recorded ? nl->recorded : "the kernel");
	return 0;
}

static int read_routes(struct reading *r, struct netlink *nl, int family, struct err *e)
{
	r->defaults_before = r->inv->defaults.n;
	return dump(r, nl, RTM_GETROUTE, family, take_route, forget_routes, e);
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

static int read_once(struct reading *r, struct netlink *nl, unsigned parts, struct err *e)
{
	struct inventory *inv = r->inv;

	inv->ifaces.n = inv->addrs.n = inv->defaults.n = 0;
	r->strangers = 0;
	if (dump(r, nl, RTM_GETLINK, AF_UNSPEC, take_link, forget_links, e) < 0)
		return -1;
	inventory_index_links(inv);
	if ((parts & INV_ADDRS) &&
	    dump(r, nl, RTM_GETADDR, AF_UNSPEC, take_addr, forget_addrs, e) < 0)
		return -1;
	inventory_chain_addrs(inv);
	if (!(parts & INV_ROUTES))
		return 0;
	if (read_routes(r, nl, AF_INET, e) < 0)
		return -1;
	/* Every interface has an fe80 route, a sixteenth of our time at a thousand of them. */
	if ((parts & INV_ADDRS) && !has_ipv6(inv))
		return 0;
	return read_routes(r, nl, AF_INET6, e);
}

int inventory_read(struct inventory *inv, struct netlink *nl, unsigned parts, struct arena *a,
		   struct err *e)
{
	struct reading r = {.inv = inv};
	int tries = nl->recorded ? 1 : TRIES;

	*inv = (struct inventory){.a = a};
	do {
		if (read_once(&r, nl, parts, e) < 0)
			return -1;
	} while (r.strangers && --tries > 0);
	inv->hostname = sysroot_hostname(a);
	return 0;
}
