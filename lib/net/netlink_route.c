#include "lib/core/arena.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

#include <errno.h>
#include <netlink/msg.h>

const void *netlink_addr_bytes(const union addr *a, size_t *ret_n)
{
	bool v4 = a->sa.sa_family == AF_INET;

	*ret_n = v4 ? sizeof(a->v4.sin_addr) : sizeof(a->v6.sin6_addr);
	return v4 ? (const void *)&a->v4.sin_addr : &a->v6.sin6_addr;
}

static bool take_bytes(const struct nlattr *a, size_t n, unsigned char *ret)
{
	if (!a || (size_t)nla_len(a) < n)
		return false;
	memcpy(ret, nla_data(a), n);
	return true;
}

int netlink_route_fill(const struct nlmsghdr *h, struct route *ret)
{
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *r = nlmsg_data(h);
	size_t n;

	if (netlink_attrs(h, sizeof(*r), tb, RTA_MAX) < 0)
		return -1;
	n = r->rtm_family == AF_INET ? 4 : 16;
	*ret = (struct route){.type = r->rtm_type};
	ret->oif = (int)netlink_u32(tb[RTA_OIF], 0);
	ret->has_source = take_bytes(tb[RTA_PREFSRC], n, ret->source);
	ret->has_gateway = take_bytes(tb[RTA_GATEWAY], n, ret->gateway);
	switch (r->rtm_type) {
	case RTN_UNREACHABLE:
		ret->why = "unreachable";
		break;
	case RTN_PROHIBIT:
		ret->why = "prohibited";
		break;
	case RTN_BLACKHOLE:
		ret->why = "blackhole";
		break;
	default:
		ret->reachable = true;
	}
	return 0;
}

const char *netlink_router(const struct route *r, int family, struct arena *a)
{
	union addr at = {.sa.sa_family = (sa_family_t)family};
	struct addr_text text;

	if (!r->has_gateway)
		return NULL;
	if (family == AF_INET)
		memcpy(&at.v4.sin_addr, r->gateway, sizeof(at.v4.sin_addr));
	else
		memcpy(&at.v6.sin6_addr, r->gateway, sizeof(at.v6.sin6_addr));
	return arena_strdup(a, addr_print(&at, &text));
}

bool netlink_forbids(const struct route *r)
{
	return !r->reachable && r->why &&
	       (streq(r->why, "blackhole") || streq(r->why, "unreachable") ||
		streq(r->why, "prohibited"));
}

static int take_answer(const struct nlmsghdr *h, void *arg)
{
	struct route *ret = arg;

	if (h->nlmsg_type == RTM_NEWROUTE && netlink_route_fill(h, ret) == 0)
		return -1;
	return 0;
}

static const char *refusal(int status, bool pinned)
{
	switch (status) {
	case ENETUNREACH:
		return "no route";
	case EHOSTUNREACH:
		return "unreachable";
	case EACCES:
		return "prohibited";
	case EINVAL: /* also what an IPv4 blackhole route answers */
		return pinned ? "not possible from this source address" : "blackhole";
	case ENODEV:
		return "no such interface";
	case ENETDOWN:
		return "the interface is down";
	case EAFNOSUPPORT:
	case EOPNOTSUPP:
		return "address family not available";
	}
	return NULL;
}

struct nl_msg *netlink_route_request(const union addr *to, int oif, const union addr *from,
				     uint32_t mark, unsigned flags)
{
	struct rtmsg r = {.rtm_family = (unsigned char)to->sa.sa_family, .rtm_flags = flags};
	struct nl_msg *m = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	size_t n, from_n = 0;
	const void *dst = netlink_addr_bytes(to, &n);
	const void *src = from ? netlink_addr_bytes(from, &from_n) : NULL;

	r.rtm_dst_len = (unsigned char)(n * 8);
	r.rtm_src_len = (unsigned char)(from_n * 8);
	if (m && nlmsg_append(m, &r, sizeof(r), NLMSG_ALIGNTO) == 0 &&
	    nla_put(m, RTA_DST, (int)n, dst) == 0 &&
	    (!src || nla_put(m, RTA_SRC, (int)from_n, src) == 0) &&
	    (!oif || nla_put_u32(m, RTA_OIF, (uint32_t)oif) == 0) &&
	    (!mark || nla_put_u32(m, RTA_MARK, mark) == 0))
		return m;
	nlmsg_free(m);
	return NULL;
}

static int look_up(struct netlink *nl, struct nl_msg *m, bool pinned, struct route *ret,
		   struct err *e)
{
	struct route answer = {.why = "no route"};
	const struct netlink_sink sink = {.each = take_answer, .arg = &answer};
	struct netlink_end end;

	if (!m)
		return err_set(e, ERR_SYS, "no memory for a netlink request");
	if (netlink_ask(nl, m, &sink, &end, e) < 0)
		return -1;
	if (end.status) {
		answer.why = refusal(end.status, pinned);
		if (!answer.why) {
			errno = end.status;
			return err_sys(e, "the kernel would not look up a route");
		}
	}
	*ret = answer;
	return 0;
}

int netlink_route(struct netlink *nl, const union addr *to, int oif, const union addr *from,
		  struct route *ret, struct err *e)
{
	AUTO(netlink_msg_freep) struct nl_msg *m = NULL;

	if (from && from->sa.sa_family != to->sa.sa_family) {
		*ret = (struct route){.why = "the source address is of the other family"};
		return 0;
	}
	if (!oif && to->sa.sa_family == AF_INET6)
		oif = (int)to->v6.sin6_scope_id;
	if (nl->recorded)
		return netlink_recorded_route(nl, to, oif, from, ret, e);
	m = netlink_route_request(to, oif, from, 0, 0);
	return look_up(nl, m, from != NULL, ret, e);
}

int netlink_route_marked(struct netlink *nl, const union addr *to, uint32_t mark, struct route *ret,
			 struct err *e)
{
	AUTO(netlink_msg_freep) struct nl_msg *m = NULL;

	if (nl->recorded)
		return netlink_recorded_route(nl, to, 0, NULL, ret, e);
	m = netlink_route_request(to, 0, NULL, mark, 0);
	return look_up(nl, m, false, ret, e);
}
