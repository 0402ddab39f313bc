/*
 * What forbids a packet without a mark, whichever table it is in: VPNs that let nothing pass beside
 * them keep "unreachable default" in a table of their own, for all that has not their mark. The
 * kernel does not tell which entry it was, so its rules and tables are gone through as it does.
 */
#include "lib/core/arena.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

#include <linux/fib_rules.h>
#include <netlink/msg.h>

enum { MOST_STEPS = 64 };

/* The best entry of a table, or what the rule itself does. */
struct step {
	uint32_t priority, table; /* table 0: the rule forbids by itself */
	int suppress;		  /* entries of no longer a prefix are passed over; -1: none */
	int len;		  /* of its best entry; -1: there is none */
	uint32_t metric;
	uint8_t type;
};

struct walk {
	const union addr *to;
	size_t n;
	struct step v[MOST_STEPS];
	union addr net; /* of the main table's best entry that leads somewhere */
	int net_len;	/* -1: it has none */
};

static void forget(void *arg) { ((struct walk *)arg)->n = 0; }

/* Is it for what has no mark, wherever it comes from? */
static bool is_ours(const struct fib_rule_hdr *r, struct nlattr **tb, const union addr *to)
{
	const bool inverted = r->flags & FIB_RULE_INVERT;
	struct fib_rule_hdr plain = *r;
	union addr net;

	plain.flags &= ~(uint32_t)FIB_RULE_INVERT;
	if (netlink_rule_is_special(&plain, tb) || r->src_len || r->family != to->sa.sa_family ||
	    (inverted && r->dst_len) || !netlink_covers(tb[FRA_DST], r->dst_len, to, &net))
		return false;
	return netlink_u32(tb[FRA_FWMARK], 0) ? inverted : !inverted;
}

static int take_rule(const struct nlmsghdr *h, void *arg)
{
	struct walk *x = arg;
	struct nlattr *tb[FRA_MAX + 1];
	const struct fib_rule_hdr *r = nlmsg_data(h);
	bool leads;

	if (h->nlmsg_type != RTM_NEWRULE || netlink_attrs(h, sizeof(*r), tb, FRA_MAX) < 0 ||
	    !is_ours(r, tb, x->to) || x->n == MOST_STEPS)
		return 0;
	leads = r->action == FR_ACT_TO_TBL;
	if (!leads && r->action != FR_ACT_BLACKHOLE && r->action != FR_ACT_UNREACHABLE &&
	    r->action != FR_ACT_PROHIBIT)
		return 0;
	x->v[x->n++] =
		(struct step){.priority = netlink_u32(tb[FRA_PRIORITY], 0),
			      .table = leads ? netlink_u32(tb[FRA_TABLE], r->table) : 0,
			      .suppress = (int)netlink_u32(tb[FRA_SUPPRESS_PREFIXLEN], UINT32_MAX),
			      .len = -1};
	return 0;
}

static int take_route(const struct nlmsghdr *h, void *arg)
{
	struct walk *x = arg;
	struct nlattr *tb[RTA_MAX + 1];
	const struct rtmsg *r = nlmsg_data(h);
	uint32_t table, metric;
	union addr net;

	if (h->nlmsg_type != RTM_NEWROUTE || netlink_attrs(h, sizeof(*r), tb, RTA_MAX) < 0 ||
	    r->rtm_family != x->to->sa.sa_family || r->rtm_flags & RTM_F_CLONED ||
	    !netlink_covers(tb[RTA_DST], r->rtm_dst_len, x->to, &net))
		return 0;
	table = netlink_u32(tb[RTA_TABLE], r->rtm_table);
	metric = netlink_u32(tb[RTA_PRIORITY], 0);
	for (size_t i = 0; i < x->n; i++) {
		struct step *s = &x->v[i];

		if (!s->table || s->table != table ||
		    !(r->rtm_dst_len > s->len || (r->rtm_dst_len == s->len && metric < s->metric)))
			continue;
		s->len = r->rtm_dst_len;
		s->metric = metric;
		s->type = r->rtm_type;
	}
	if (table == RT_TABLE_MAIN && r->rtm_type == RTN_UNICAST && r->rtm_dst_len > x->net_len) {
		x->net = net;
		x->net_len = r->rtm_dst_len;
	}
	return 0;
}

static int read_tables(struct netlink *nl, struct walk *x)
{
	AUTO(netlink_msg_freep) struct nl_msg *m = nlmsg_alloc_simple(RTM_GETROUTE, NLM_F_DUMP);
	struct rtmsg r = {.rtm_family = (unsigned char)x->to->sa.sa_family};
	const struct netlink_sink sink = {.each = take_route, .arg = x};
	struct netlink_end end;
	struct err ignored = {0};

	if (!m || nlmsg_append(m, &r, sizeof(r), NLMSG_ALIGNTO))
		return -1;
	return netlink_ask(nl, m, &sink, &end, &ignored) < 0 || end.status ? -1 : 0;
}

/* NULL: what decides is no such entry. */
static const struct step *decides(const struct walk *x)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct step *s = &x->v[i];

		if (!s->table)
			return s;
		if (s->len < 0 || s->len <= s->suppress || s->type == RTN_THROW)
			continue;
		return s->type == RTN_BLACKHOLE || s->type == RTN_UNREACHABLE ||
				       s->type == RTN_PROHIBIT
			       ? s
			       : NULL;
	}
	return NULL;
}

const char *netlink_pass_forbidden(struct netlink *nl, const union addr *to, struct arena *a)
{
	const char *ip = addr_ip_command(to->sa.sa_family);
	struct walk x = {.to = to, .net_len = -1};
	const struct netlink_sink rules = {.each = take_rule, .restart = forget, .arg = &x};
	const struct step *s = NULL;
	struct addr_text at;
	struct err ignored;

	if (!nl->recorded && nl->sock &&
	    !netlink_dump(nl, RTM_GETRULE, to->sa.sa_family, &rules, &ignored) &&
	    !read_tables(nl, &x))
		s = decides(&x);
	if (!s || s->table == RT_TABLE_MAIN)
		return netlink_undo_forbidding(to, RT_TABLE_MAIN, a);
	if (x.net_len < 0 || !s->priority) /* nothing else leads there, and somebody wanted it */
		return arena_printf(a, "%s rule list", ip);
	if (!x.net_len) { /* of all that the default route leads to, this alone */
		x.net = *to;
		x.net_len = to->sa.sa_family == AF_INET6 ? 128 : 32;
	}
	/* it goes on forbidding all else, as somebody wanted */
	return arena_printf(a, "%s rule add to %s/%d lookup main priority %u", ip,
			    addr_print(&x.net, &at), x.net_len, s->priority - 1);
}
