/* Routes with several next hops: which they are, and which of them a connection takes. */
#include "lib/core/arena.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

#include <net/if.h>
#include <netlink/msg.h>

struct found {
	struct hops *hops;
	struct arena *a;
};

static void add_hop(struct hops *to, const struct rtnexthop *x)
{
	size_t n = to->family == AF_INET ? 4 : 16;
	struct hop *h = &to->v[to->n++];
	const struct rtattr *at = RTNH_DATA(x);
	int left = (int)x->rtnh_len - (int)sizeof(*x);

	*h = (struct hop){.oif = x->rtnh_ifindex};
	for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
		if (at->rta_type == RTA_GATEWAY && RTA_PAYLOAD(at) >= n) {
			memcpy(h->gateway, RTA_DATA(at), n);
			h->has_gateway = true;
		}
}

static void take_hops(struct hops *to, const struct nlattr *all)
{
	const struct rtnexthop *x = nla_data(all);
	size_t left = (size_t)nla_len(all);

	while (left >= sizeof(*x) && x->rtnh_len >= sizeof(*x) && x->rtnh_len <= left &&
	       to->n < NETLINK_HOPS) {
		size_t step = RTNH_ALIGN(x->rtnh_len);

		add_hop(to, x);
		if (step > left)
			return;
		left -= step;
		x = (const void *)((const char *)x + step);
	}
}

static int take_entry(const struct nlmsghdr *h, void *arg)
{
	struct found *f = arg;
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *r = nlmsg_data(h);
	union addr net = {0};
	struct addr_text at;
	size_t n;

	if (h->nlmsg_type != RTM_NEWROUTE || netlink_attrs(h, sizeof(*r), tb, RTA_MAX) < 0)
		return 0;
	f->hops->family = net.sa.sa_family = r->rtm_family;
	if (tb[RTA_MULTIPATH])
		take_hops(f->hops, tb[RTA_MULTIPATH]);
	n = r->rtm_family == AF_INET ? 4 : 16;
	if (netlink_u32(tb[RTA_TABLE], r->rtm_table) != RT_TABLE_MAIN)
		return -1;
	if (!r->rtm_dst_len) {
		f->hops->network = "default";
	} else if (tb[RTA_DST] && (size_t)nla_len(tb[RTA_DST]) == n) {
		memcpy(n == 4 ? (void *)&net.v4.sin_addr : &net.v6.sin6_addr, nla_data(tb[RTA_DST]),
		       n);
		f->hops->network =
			arena_printf(f->a, "%s/%u", addr_print(&net, &at), r->rtm_dst_len);
	}
	return -1;
}

void netlink_hops(struct netlink *nl, const union addr *to, struct arena *a, struct hops *ret)
{
	AUTO(netlink_msg_freep) struct nl_msg *m = NULL;
	struct found f = {ret, a};
	const struct netlink_sink sink = {.each = take_entry, .arg = &f};
	struct netlink_end end;
	struct err ignored;

	*ret = (struct hops){0};
	if (nl->recorded)
		return;
	m = netlink_route_request(to, 0, NULL, 0, RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE);
	if (!m || netlink_ask(nl, m, &sink, &end, &ignored) < 0 || ret->n < 2)
		ret->n = 0;
}

static int take_route(const struct nlmsghdr *h, void *arg)
{
	struct route *ret = arg;

	return h->nlmsg_type == RTM_NEWROUTE && !netlink_route_fill(h, ret) ? -1 : 0;
}

static bool is_hop(const struct hop *x, const struct route *r, int family)
{
	return x->oif == r->oif && x->has_gateway == r->has_gateway &&
	       (!x->has_gateway || !memcmp(x->gateway, r->gateway, family == AF_INET ? 4 : 16));
}

size_t netlink_hop_of(struct netlink *nl, const union addr *from, const union addr *to,
		      const struct hops *hops)
{
	/* RTA_IP_PROTO and so on, which older headers lack */
	enum { PROTOCOL = 27, FROM_PORT = 28, TO_PORT = 29 };
	AUTO(netlink_msg_freep) struct nl_msg *m = netlink_route_request(to, 0, from, 0, 0);
	uint16_t from_be = htons(addr_port(from)), to_be = htons(addr_port(to));
	struct route r = {0};
	const struct netlink_sink sink = {.each = take_route, .arg = &r};
	struct netlink_end end;
	struct err ignored;

	if (!m || nla_put_u8(m, PROTOCOL, IPPROTO_TCP) ||
	    nla_put(m, FROM_PORT, sizeof(from_be), &from_be) ||
	    nla_put(m, TO_PORT, sizeof(to_be), &to_be) ||
	    netlink_ask(nl, m, &sink, &end, &ignored) < 0 || end.status)
		return SIZE_MAX;
	for (size_t i = 0; i < hops->n; i++)
		if (is_hop(&hops->v[i], &r, hops->family))
			return i;
	return SIZE_MAX;
}

const char *netlink_hop_text(const struct hops *hops, size_t i, struct arena *a)
{
	const struct hop *h = &hops->v[i];
	union addr via = {.sa.sa_family = (sa_family_t)hops->family};
	char name[IF_NAMESIZE] = "?";
	struct addr_text at;

	(void)if_indextoname((unsigned)h->oif, name);
	if (!h->has_gateway)
		return arena_printf(a, "dev %s", name);
	if (hops->family == AF_INET)
		memcpy(&via.v4.sin_addr, h->gateway, sizeof(via.v4.sin_addr));
	else
		memcpy(&via.v6.sin6_addr, h->gateway, sizeof(via.v6.sin6_addr));
	return arena_printf(a, "via %s dev %s", addr_print(&via, &at), name);
}
