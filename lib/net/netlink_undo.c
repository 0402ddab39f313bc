/* Which entry of the routing tables decides of a packet, as the command that takes it away. */
#include "lib/core/arena.h"
#include "lib/core/lineage.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

#include <linux/fib_rules.h>
#include <net/if.h>
#include <netlink/msg.h>

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

bool netlink_covers(const struct nlattr *at, unsigned prefix, const union addr *to, union addr *ret)
{
	const void *bytes = bytes_of(at, to->sa.sa_family);

	*ret = addr_of(to->sa.sa_family, bytes);
	return !prefix || (bytes && addr_in_subnet(to, ret, prefix));
}

/* ---- the entry of a table ---- */
struct entry {
	struct arena *a;
	const char *undo;
	uint32_t table; /* that it is in; 0: not known */
	int oif;
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

	if (h->nlmsg_type != RTM_NEWROUTE || netlink_attrs(h, sizeof(*r), tb, RTA_MAX) < 0)
		return 0;
	table = x->table = netlink_u32(tb[RTA_TABLE], r->rtm_table);
	x->oif = (int)netlink_u32(tb[RTA_OIF], 0);
	if (!r->rtm_dst_len || !bytes_of(tb[RTA_DST], r->rtm_family) || table == RT_TABLE_LOCAL ||
	    !if_indextoname(netlink_u32(tb[RTA_OIF], 0), name))
		return 0;
	net = addr_of(r->rtm_family, bytes_of(tb[RTA_DST], r->rtm_family));
	x->undo = arena_printf(x->a, "%s route del %s/%u dev %s", addr_ip_command(r->rtm_family),
			       addr_print(&net, &at), r->rtm_dst_len, name);
	if (table != RT_TABLE_MAIN)
		x->undo = arena_printf(x->a, "%s table %u", x->undo, table);
	return -1;
}

/* What decides; empty where that is not known. */
static struct entry find_entry(struct netlink *nl, const union addr *from, const union addr *to,
			       struct arena *a)
{
	AUTO(netlink_msg_freep) struct nl_msg *m = NULL;
	struct entry x = {.a = a};
	const struct netlink_sink sink = {.each = take_entry, .arg = &x};
	struct netlink_end end;
	struct err ignored;

	if (nl->recorded || (from && from->sa.sa_family != to->sa.sa_family))
		return x;
	m = netlink_route_request(to, 0, from, 0, RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE);
	if (!m || netlink_ask(nl, m, &sink, &end, &ignored) < 0)
		return (struct entry){0};
	return x;
}

/* Does what we send to who has logged in here leave through @oif? The way back may be lost. */
static bool carries_ssh(struct netlink *nl, int oif, struct arena *a)
{
	/* "10.0.0.9 40000 10.0.0.2 22", which sudo leaves out */
	const char *ssh = lineage_env(a, "SSH_CONNECTION");
	size_t n = ssh ? strcspn(ssh, " ") : 0;
	struct err ignored = {0};
	struct route x = {0};
	union addr who;

	return n && !addr_parse(arena_strndup(a, ssh, n), &who) &&
	       !netlink_route(nl, &who, 0, NULL, &x, &ignored) && x.reachable && x.oif == oif;
}

const char *netlink_undo_route(struct netlink *nl, const union addr *from, const union addr *to,
			       struct arena *a)
{
	const struct entry x = find_entry(nl, from, to, a);

	return x.undo && !carries_ssh(nl, x.oif, a) ? x.undo : NULL;
}

const char *netlink_undo_forbidding(const union addr *to, uint32_t table, struct arena *a)
{
	const char *ip = addr_ip_command(to->sa.sa_family),
		   *in = table == RT_TABLE_MAIN ? "" : arena_printf(a, " table %u", table);
	struct addr_text at;

	return arena_printf(a,
			    "%s route del $(%s route show%s to match %s | grep -E "
			    "'^(blackhole|unreachable|prohibit) ' | tail -n 1)%s",
			    ip, ip, in, addr_print(to, &at), in);
}

/* ---- the main table first ---- */
struct main_way {
	const union addr *to;
	int oif; /* of the entry for @to, as far as one was seen */
	union addr net;
	unsigned len;
	uint32_t table, before; /* the first rule that leads to @table has this priority; 0: none */
};

static void forget_way(void *arg)
{
	struct main_way *x = arg;

	x->len = 0;
	x->oif = 0;
	x->before = 0;
}

static int take_way(const struct nlmsghdr *h, void *arg)
{
	struct main_way *x = arg;
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *r = nlmsg_data(h);
	union addr net;

	if (h->nlmsg_type != RTM_NEWROUTE || netlink_attrs(h, sizeof(*r), tb, RTA_MAX) < 0 ||
	    r->rtm_family != x->to->sa.sa_family || r->rtm_dst_len <= x->len ||
	    netlink_u32(tb[RTA_TABLE], r->rtm_table) != RT_TABLE_MAIN ||
	    !netlink_covers(tb[RTA_DST], r->rtm_dst_len, x->to, &net))
		return 0;
	x->net = net;
	x->len = r->rtm_dst_len;
	x->oif = (int)netlink_u32(tb[RTA_OIF], 0);
	return 0;
}

static int take_leading(const struct nlmsghdr *h, void *arg)
{
	struct main_way *x = arg;
	struct nlattr *tb[FRA_MAX + 1];
	const struct fib_rule_hdr *r = nlmsg_data(h);

	if (h->nlmsg_type != RTM_NEWRULE || netlink_attrs(h, sizeof(*r), tb, FRA_MAX) < 0 ||
	    r->family != x->to->sa.sa_family || x->before ||
	    netlink_u32(tb[FRA_TABLE], r->table) != x->table)
		return 0;
	x->before = netlink_u32(tb[FRA_PRIORITY], 0);
	return 0;
}

const char *netlink_prefer_main(struct netlink *nl, int oif, const union addr *from,
				const union addr *to, struct arena *a)
{
	struct main_way x = {.to = to, .table = find_entry(nl, from, to, a).table};
	const struct netlink_sink ways = {.each = take_way, .restart = forget_way, .arg = &x};
	const struct netlink_sink rules = {.each = take_leading, .arg = &x};
	int family = to->sa.sa_family;
	struct addr_text at;
	struct err ignored;

	if (!x.table || x.table == RT_TABLE_MAIN || x.table == RT_TABLE_LOCAL ||
	    netlink_dump(nl, RTM_GETROUTE, family, &ways, &ignored) || x.oif != oif || !oif ||
	    netlink_dump(nl, RTM_GETRULE, family, &rules, &ignored) || x.before < 2)
		return NULL;
	return arena_printf(a, "%s rule add to %s/%u lookup main priority %u",
			    addr_ip_command(family), addr_print(&x.net, &at), x.len, x.before - 1);
}

/* ---- the rule that leads to a table, or forbids by itself ---- */
struct rule {
	const union addr *from,
		*to;	/* from: only rules that ask for it, as without it all is well */
	bool forbidden; /* what decides says so: no mere lack of a route */
	size_t n;	/* rules for these addresses that may decide */
	struct one_rule {
		uint32_t priority;
		uint32_t table;	     /* that it leads to; 0: it forbids by itself */
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

bool netlink_rule_is_special(const struct fib_rule_hdr *r, struct nlattr **tb)
{
	static const int others[] = {FRA_IIFNAME,     FRA_OIFNAME,   FRA_IP_PROTO, FRA_SPORT_RANGE,
				     FRA_DPORT_RANGE, FRA_UID_RANGE, FRA_TUN_ID,   FRA_L3MDEV};

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
	*ret = (struct one_rule){
		.priority = netlink_u32(tb[FRA_PRIORITY], 0),
		.table = r->action == FR_ACT_TO_TBL ? netlink_u32(tb[FRA_TABLE], r->table) : 0,
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
	union addr net;

	if (!read_rule(h, x->to->sa.sa_family, tb, &one) || tb[FRA_FWMARK] ||
	    netlink_rule_is_special(r, tb) || !(x->from ? one.from_len : one.to_len) ||
	    !one.priority || (r->action == FR_ACT_TO_TBL && !x->forbidden) ||
	    (r->src_len && !x->from) ||
	    (x->from && !netlink_covers(tb[FRA_SRC], r->src_len, x->from, &net)) ||
	    !netlink_covers(tb[FRA_DST], r->dst_len, x->to, &net))
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
	const struct netlink_sink deciding = {.each = take_rule, .restart = forget, .arg = &x};
	const struct netlink_sink alike = {.each = count_alike, .restart = forget_alike, .arg = &x};
	const struct one_rule *f = &x.found;
	int family = to->sa.sa_family;
	struct err ignored;

	if (nl->recorded || (from && from->sa.sa_family != family) ||
	    netlink_dump(nl, RTM_GETRULE, family, &deciding, &ignored) || x.n != 1)
		return NULL;
	if (f->table) /* of a card's table one route may forbid: who came by the others needs it */
		return netlink_undo_forbidding(to, f->table, a);
	if (netlink_dump(nl, RTM_GETRULE, family, &alike, &ignored) || x.alike != 1)
		return NULL;
	return arena_printf(a, "%s rule del priority %u%s%s", addr_ip_command(family), f->priority,
			    selector(a, "from", &f->from, f->from_len),
			    selector(a, "to", &f->to, f->to_len));
}
