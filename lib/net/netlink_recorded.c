#include "lib/core/file.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

#include <errno.h>
#include <netlink/msg.h>

enum { RECORDED_MAX = 64 << 20 };

static const char *dump_file(int type, int family)
{
	switch (type) {
	case RTM_GETLINK:
		return "links";
	case RTM_GETADDR:
		return "addrs";
	case RTM_GETROUTE:
		return family == AF_INET ? "routes4" : "routes6";
	default:
		return family == AF_INET ? "rules4" : "rules6";
	}
}

int netlink_recorded_dump(const char *dir, int type, int family, const struct netlink_sink *to,
			  struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *path = arena_printf(&a, "%s/%s", dir, dump_file(type, family));
	struct nlmsghdr *h;
	struct err why;
	char *data;
	size_t n;
	int left;

	if (file_read(path, RECORDED_MAX, &a, &data, &n, &why) < 0) {
		if (errno == ENOENT && (type == RTM_GETROUTE || type == RTM_GETRULE))
			return 0;
		*e = why;
		return -1;
	}
	left = (int)n;
	for (h = (void *)data; nlmsg_ok(h, left); h = nlmsg_next(h, &left)) {
		if (h->nlmsg_type >= NLMSG_MIN_TYPE && to->each(h, to->arg) < 0)
			return 0;
	}
	if (left > 0)
		return err_set(e, ERR_SYS, "%s: damaged at byte %zu of %zu", path, n - (size_t)left,
			       n);
	return 0;
}

/* One lookup in recorded dumps. */
struct lookup {
	const union addr *to, *from;
	const unsigned char *dst, *src; /* their bytes; src may be NULL */
	size_t n;
	int oif;

	bool is_local, from_is_local, found;
	unsigned best_len, best_metric;
	struct route best;
	unsigned char source[16];
	bool has_source;
};

static bool prefix_equal(const unsigned char *a, const unsigned char *b, unsigned bits)
{
	unsigned bytes = bits / 8, rest = bits % 8;

	return memcmp(a, b, bytes) == 0 && (!rest || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0);
}

static const unsigned char *attr_bytes(const struct nlattr *a, size_t n)
{
	return a && (size_t)nla_len(a) >= n ? nla_data(a) : NULL;
}

static int look_at_addr(const struct nlmsghdr *h, void *arg)
{
	struct lookup *l = arg;
	struct nlattr *tb[IFA_MAX + 1];
	const struct ifaddrmsg *m = nlmsg_data(h);
	const unsigned char *own;

	if (h->nlmsg_type != RTM_NEWADDR || netlink_attrs(h, sizeof(*m), tb, IFA_MAX) < 0 ||
	    m->ifa_family != l->to->sa.sa_family)
		return 0;
	own = attr_bytes(tb[tb[IFA_LOCAL] ? IFA_LOCAL : IFA_ADDRESS], l->n);
	if (!own)
		return 0;
	l->is_local |= memcmp(own, l->dst, l->n) == 0;
	l->from_is_local |= l->src && memcmp(own, l->src, l->n) == 0;
	/* The first address of the way out is what an unbound socket gets. */
	if (l->found && !l->has_source && (int)m->ifa_index == l->best.oif &&
	    m->ifa_scope < RT_SCOPE_LINK) {
		memcpy(l->source, own, l->n);
		l->has_source = true;
	}
	return 0;
}

static int look_at_route(const struct nlmsghdr *h, void *arg)
{
	struct lookup *l = arg;
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *m = nlmsg_data(h);
	const unsigned char *dst;
	struct route r;
	unsigned metric;

	if (h->nlmsg_type != RTM_NEWROUTE || netlink_attrs(h, sizeof(*m), tb, RTA_MAX) < 0 ||
	    m->rtm_family != l->to->sa.sa_family || m->rtm_dst_len > l->n * 8 ||
	    netlink_route_fill(h, &r) < 0 || (l->oif && r.oif != l->oif))
		return 0;
	dst = attr_bytes(tb[RTA_DST], l->n);
	if (m->rtm_dst_len && (!dst || !prefix_equal(dst, l->dst, m->rtm_dst_len)))
		return 0;
	metric = netlink_u32(tb[RTA_PRIORITY], 0);
	if (l->found && (m->rtm_dst_len < l->best_len ||
			 (m->rtm_dst_len == l->best_len && metric >= l->best_metric)))
		return 0;
	l->found = true;
	l->best = r;
	l->best_len = m->rtm_dst_len;
	l->best_metric = metric;
	return 0;
}

int netlink_recorded_route(struct netlink *nl, const union addr *to, int oif,
			   const union addr *from, struct route *ret, struct err *e)
{
	struct lookup l = {.to = to, .from = from, .oif = oif};
	const struct netlink_sink routes = {.each = look_at_route, .arg = &l};
	const struct netlink_sink addrs = {.each = look_at_addr, .arg = &l};
	int family = to->sa.sa_family;

	l.dst = netlink_addr_bytes(to, &l.n);
	l.src = from ? netlink_addr_bytes(from, &l.n) : NULL;
	if (netlink_recorded_dump(nl->recorded, RTM_GETROUTE, family, &routes, e) < 0 ||
	    netlink_recorded_dump(nl->recorded, RTM_GETADDR, family, &addrs, e) < 0)
		return -1;
	if (from && !l.from_is_local)
		l.best = (struct route){.why = "not possible from this source address"};
	else if (l.is_local && !oif)
		l.best = (struct route){.reachable = true, .oif = 1, .type = RTN_LOCAL};
	else if (!l.found)
		l.best = (struct route){.why = "no route"};
	if (l.best.reachable && !l.best.has_source && (from || l.is_local || l.has_source)) {
		memcpy(l.best.source, from ? l.src : l.is_local ? l.dst : l.source, l.n);
		l.best.has_source = true;
	}
	*ret = l.best;
	return 0;
}
