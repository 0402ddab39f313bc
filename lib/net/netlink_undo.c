/* Which entry of the routing tables decides of a packet, as the command that takes it away. */
#include "lib/core/arena.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

#include <linux/fib_rules.h>
#include <net/if.h>
#include <netlink/msg.h>

static void msg_freep(struct nl_msg **m) { nlmsg_free(*m); }

static union addr addr_of(int family, const void *bytes)
{
	union addr ret = {.sa.sa_family = (sa_family_t)family};

	if (bytes && family == AF_INET)
		memcpy(&ret.v4.sin_addr, bytes, sizeof(ret.v4.sin_addr));
	else if (bytes)
		memcpy(&ret.v6.sin6_addr, bytes, sizeof(ret.v6.sin6_addr));
	return ret;
}

/* NULL: it is not there, or no address. */
static const void *bytes_of(const struct nlattr *at, int family)
{
	return at && nla_len(at) == (family == AF_INET ? 4 : 16) ? nla_data(at) : NULL;
}

static const char *ip_for(int family) { return family == AF_INET6 ? "ip -6" : "ip"; }

/* ---- the entry of a table ---- */
struct entry {
	struct arena *a;
	const char *undo;
};

static int take_entry(const struct nlmsghdr *h, void *arg)
{
	struct entry *x = arg;
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *r = nlmsg_data(h);
	char name[IF_NAMESIZE];
	struct addr_text at;
	uint32_t table;
	union addr net;

	if (h->nlmsg_type != RTM_NEWROUTE || netlink_attrs(h, sizeof(*r), tb, RTA_MAX) < 0 ||
	    !r->rtm_dst_len || !bytes_of(tb[RTA_DST], r->rtm_family) ||
	    !if_indextoname(netlink_u32(tb[RTA_OIF], 0), name))
		return 0;
	net = addr_of(r->rtm_family, bytes_of(tb[RTA_DST], r->rtm_family));
	table = netlink_u32(tb[RTA_TABLE], r->rtm_table);
	if (table == RT_TABLE_LOCAL)
		return 0;
	x->undo = arena_printf(x->a, "%s route del %s/%u dev %s", ip_for(r->rtm_family),
			       addr_print(&net, &at), r->rtm_dst_len, name);
	if (table != RT_TABLE_MAIN)
		x->undo = arena_printf(x->a, "%s table %u", x->undo, table);
	return -1;
}

static struct nl_msg *entry_request(const union addr *from, const union addr *to)
{
	struct rtmsg r = {.rtm_family = (unsigned char)to->sa.sa_family,
			  .rtm_flags = RTM_F_FIB_MATCH};
	struct nl_msg *m = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	size_t n;
	const void *src = netlink_addr_bytes(from, &n), *dst = netlink_addr_bytes(to, &n);

	r.rtm_dst_len = r.rtm_src_len = (unsigned char)(n * 8);
	if (m && nlmsg_append(m, &r, sizeof(r), NLMSG_ALIGNTO) == 0 &&
	    nla_put(m, RTA_DST, (int)n, dst) == 0 && nla_put(m, RTA_SRC, (int)n, src) == 0)
		return m;
	nlmsg_free(m);
	return NULL;
}

const char *netlink_undo_route(struct netlink *nl, const union addr *from, const union addr *to,
			       struct arena *a)
{
	AUTO(msg_freep) struct nl_msg *m = NULL;
	struct entry x = {.a = a};
	struct err ignored;
	bool again;
	int status;

	if (nl->recorded || from->sa.sa_family != to->sa.sa_family)
		return NULL;
	m = entry_request(from, to);
	if (!m || netlink_ask(nl, m, take_entry, &x, &status, &again, &ignored) < 0)
		return NULL;
	return x.undo;
}

/* ---- the rule that leads to a table, or forbids by itself ---- */
struct rule {
	const union addr *from,
		*to;	/* from: only rules that ask for it, as without it all is well */
	bool forbidden; /* what decides says so: no mere lack of a route */
	size_t n;	/* rules for these addresses that may decide */
	struct one_rule {
		uint32_t priority;
		union addr from, to; /* family 0: any */
		unsigned from_len, to_len;
	} found;
	size_t alike; /* so many rules would the command for the found one fit; it is one of them */
};

static void forget(void *arg)
{
	struct rule *x = arg;

	x->n = 0;
	x->found = (struct one_rule){0};
}

static bool covers(const struct nlattr *at, unsigned prefix, int family, const union addr *x)
{
	const void *bytes = bytes_of(at, family);
	union addr net = addr_of(family, bytes);

	return !prefix || (x && bytes && addr_in_subnet(x, &net, prefix));
}

/* One for other interfaces, marks, users or services says nothing of these packets. */
static bool is_for_others(const struct fib_rule_hdr *r, struct nlattr **tb)
{
	static const int others[] = {FRA_IIFNAME,   FRA_OIFNAME,     FRA_FWMARK,
				     FRA_IP_PROTO,  FRA_SPORT_RANGE, FRA_DPORT_RANGE,
				     FRA_UID_RANGE, FRA_TUN_ID,	     FRA_L3MDEV};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (tb[others[i]])
			return true;
	return (r->flags & FIB_RULE_INVERT) || r->tos;
}

/* False: it is no rule of that family. */
static bool read_rule(const struct nlmsghdr *h, int family, struct nlattr **tb,
		      struct one_rule *ret)
{
	const struct fib_rule_hdr *r = nlmsg_data(h);

	if (h->nlmsg_type != RTM_NEWRULE || netlink_attrs(h, sizeof(*r), tb, FRA_MAX) < 0 ||
	    r->family != family)
		return false;
	*ret = (struct one_rule){.priority = netlink_u32(tb[FRA_PRIORITY], 0),
				 .from = addr_of(family, bytes_of(tb[FRA_SRC], family)),
				 .to = addr_of(family, bytes_of(tb[FRA_DST], family)),
				 .from_len = r->src_len,
				 .to_len = r->dst_len};
	return true;
}

static int take_rule(const struct nlmsghdr *h, void *arg)
{
	struct rule *x = arg;
	struct nlattr *tb[FRA_MAX + 1];
	const struct fib_rule_hdr *r = nlmsg_data(h);
	struct one_rule one;

	if (!read_rule(h, x->to->sa.sa_family, tb, &one) || is_for_others(r, tb) ||
	    !(x->from ? one.from_len : one.to_len) || !one.priority ||
	    (r->action == FR_ACT_TO_TBL && !x->forbidden) ||
	    !covers(tb[FRA_SRC], r->src_len, r->family, x->from) ||
	    !covers(tb[FRA_DST], r->dst_len, r->family, x->to))
		return 0;
	if (!x->n++)
		x->found = one;
	return 0;
}

static void forget_alike(void *arg) { ((struct rule *)arg)->alike = 0; }

/* The kernel takes the first that has what the command names, whatever else that has. */
static int count_alike(const struct nlmsghdr *h, void *arg)
{
	struct rule *x = arg;
	const struct one_rule *f = &x->found;
	struct nlattr *tb[FRA_MAX + 1];
	struct one_rule one;

	x->alike += read_rule(h, x->to->sa.sa_family, tb, &one) && one.priority == f->priority &&
		    (!f->from_len ||
		     (one.from_len == f->from_len && addr_equal(&one.from, &f->from))) &&
		    (!f->to_len || (one.to_len == f->to_len && addr_equal(&one.to, &f->to)));
	return 0;
}

static const char *selector(struct arena *a, const char *word, const union addr *x, unsigned len)
{
	struct addr_text at;

	return len ? arena_printf(a, " %s %s/%u", word, addr_print(x, &at), len) : "";
}

/* Of several that may decide it is not known which does, and all may be needed. */
const char *netlink_undo_rule(struct netlink *nl, const union addr *from, const union addr *to,
			      bool forbidden, struct arena *a)
{
	struct rule x = {.from = from, .to = to, .forbidden = forbidden};
	const struct one_rule *f = &x.found;
	int family = to->sa.sa_family;
	struct err ignored;

	if (nl->recorded || (from && from->sa.sa_family != family) ||
	    netlink_dump(nl, RTM_GETRULE, family, take_rule, forget, &x, &ignored) || x.n != 1 ||
	    netlink_dump(nl, RTM_GETRULE, family, count_alike, forget_alike, &x, &ignored) ||
	    x.alike != 1)
		return NULL;
	return arena_printf(a, "%s rule del priority %u%s%s", ip_for(family), f->priority,
			    selector(a, "from", &f->from, f->from_len),
			    selector(a, "to", &f->to, f->to_len));
}
