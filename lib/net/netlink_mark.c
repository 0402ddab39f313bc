/* Packets that a firewall's rule gives a mark, and a policy rule throws away because of it. */
#include "lib/core/arena.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

#include <linux/fib_rules.h>
#include <netlink/msg.h>

enum { MOST_MARKS = 32 };

struct marks {
	int family;
	size_t n;
	struct one_mark {
		uint32_t priority, table, mark, mask;
		uint8_t action;
	} v[MOST_MARKS];
};

static void forget(void *arg) { ((struct marks *)arg)->n = 0; }

static int take(const struct nlmsghdr *h, void *arg)
{
	struct marks *x = arg;
	struct nlattr *tb[FRA_MAX + 1];
	const struct fib_rule_hdr *r = nlmsg_data(h);

	if (h->nlmsg_type != RTM_NEWRULE || netlink_attrs(h, sizeof(*r), tb, FRA_MAX) < 0 ||
	    r->family != x->family || !tb[FRA_FWMARK] || !tb[FRA_PRIORITY] || r->src_len ||
	    r->dst_len || netlink_rule_is_special(r, tb) || x->n == MOST_MARKS)
		return 0;
	x->v[x->n++] = (struct one_mark){.priority = netlink_u32(tb[FRA_PRIORITY], 0),
					 .table = netlink_u32(tb[FRA_TABLE], r->table),
					 .mark = netlink_u32(tb[FRA_FWMARK], 0),
					 .mask = netlink_u32(tb[FRA_FWMASK], UINT32_MAX),
					 .action = r->action};
	return 0;
}

/* With that mark, and not without, whatever else the rules say. */
static bool is_thrown_away(struct netlink *nl, const union addr *to, uint32_t mark)
{
	struct err ignored = {0};
	struct route x = {0};

	return !netlink_route_marked(nl, to, mark, &x, &ignored) && netlink_forbids(&x);
}

/* So many rules are for that mark: which of them decides is not known. */
static size_t count_for(const struct marks *all, uint32_t mark)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += (mark & all->v[i].mask) == all->v[i].mark;
	return n;
}

/* A table may have routes for others too, so what it forbids is taken away, not all of it. */
static const char *undo(const struct marks *all, const struct one_mark *x, const union addr *to,
			struct arena *a)
{
	const char *ip = addr_ip_command(all->family);
	const char *mask = x->mask == UINT32_MAX ? "" : arena_printf(a, "/0x%x", x->mask);

	if (count_for(all, x->mark) > 1)
		return arena_printf(a, "%s rule list", ip);
	if (x->action == FR_ACT_TO_TBL)
		return netlink_undo_forbidding(to, x->table, a);
	return arena_printf(a, "%s rule del priority %u fwmark 0x%x%s", ip, x->priority, x->mark,
			    mask);
}

size_t netlink_marked_rules(struct netlink *nl, const union addr *to, struct marked_rule *ret,
			    size_t max, struct arena *a)
{
	struct marks all = {.family = to->sa.sa_family};
	const struct netlink_sink sink = {.each = take, .restart = forget, .arg = &all};
	struct err ignored = {0};
	size_t n = 0;

	if (nl->recorded || !nl->sock || netlink_dump(nl, RTM_GETRULE, all.family, &sink, &ignored))
		return 0;
	for (size_t i = 0; i < all.n && n < max; i++)
		if (is_thrown_away(nl, to, all.v[i].mark) && !is_thrown_away(nl, to, 0))
			ret[n++] = (struct marked_rule){all.v[i].mark, all.v[i].mask,
							undo(&all, &all.v[i], to, a)};
	return n;
}
