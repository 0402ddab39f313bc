#include "lib/host/rank_why.h"

#include "lib/host/leads.h"
#include "lib/host/nat.h"
#include "lib/host/rdma.h"

#include <limits.h>

enum { MANAGEMENT_MBPS = 1000 };

static int kind_score(const struct iface *i, bool over_nic)
{
	switch (i->kind) {
	case IFACE_PHYSICAL:
	case IFACE_VF:
	case IFACE_BOND:
	case IFACE_VLAN:
	case IFACE_IPOIB:
		return i->wireless ? K_WIRELESS : K_WIRED;
	case IFACE_MACVLAN:
		return K_MACVLAN;
	case IFACE_VETH:
		return i->link_elsewhere ? K_VETH : K_REST;
	case IFACE_BRIDGE:
		return over_nic ? K_WIRED : K_BRIDGE;
	default:
		return K_REST;
	}
}

/* The default route that the kernel uses counts more than one that waits behind it. */
static int default_score(const struct iface *i, int family, const unsigned *best)
{
	bool v4 = family == AF_INET;

	if (!(v4 ? i->default_route4 : i->default_route6))
		return 0;
	return (v4 ? i->default_metric4 : i->default_metric6) <= best[!v4] ? 2 : 1;
}

static void score(const struct inventory *inv, struct candidate *c, bool over_nic,
		  const unsigned *best)
{
	const struct iface *i = c->iface;

	c->score[RANK_KIND] = nat_is_own(inv, i)  ? K_NAT
			      : leads_vrf(inv, i) ? K_VRF
						  : kind_score(i, over_nic);
	c->score[RANK_FRONT] = 0;
	c->score[RANK_FAST] = 1;
	c->score[RANK_DEFAULT] = default_score(i, c->addr->addr.sa.sa_family, best);
	c->score[RANK_PRIVATE] = addr_class(&c->addr->addr) == ADDR_PRIVATE;
	c->score[RANK_SPEED] = 0;
	c->score[RANK_MTU] = i->mtu < INT_MAX ? (int)i->mtu : INT_MAX;
}

/* Those that make the one with the default route slow are several rails. */
static bool is_before_rails(struct arena *a, const candidate_list *all,
			    const struct candidate *front)
{
	size_t rails = 0;

	if (front->score[RANK_SPEED] <= MANAGEMENT_MBPS)
		return false;
	for (size_t k = 0; k < all->n; k++) {
		const struct candidate *c = &all->v[k];

		if (!c->usable || c->score[RANK_KIND] != K_WIRED || c == front ||
		    c->score[RANK_SPEED] / RANK_SLOWER < front->score[RANK_SPEED])
			continue;
		if (!rdma_has_active_port(a, c->iface))
			return false;
		rails++;
	}
	return rails > 1;
}

static void judge_speeds(struct arena *a, candidate_list *all, int fastest)
{
	for (size_t k = 0; k < all->n; k++) {
		struct candidate *c = &all->v[k];
		int speed = c->score[RANK_SPEED];

		if (speed <= 0 || speed > fastest / RANK_SLOWER)
			continue;
		c->score[RANK_FAST] = 0;
		c->score[RANK_FRONT] = c->score[RANK_DEFAULT] == 2 && is_before_rails(a, all, c);
	}
}

/* Speeds and what is wireless, of the leading kind, where there is a choice at all. */
static void refine(struct inventory *inv, candidate_list *all, const bool *over_nic)
{
	size_t n = 0;
	int fastest = 0;

	for (size_t k = 0; k < all->n; k++)
		n += all->v[k].usable && all->v[k].score[RANK_KIND] == K_WIRED;
	if (n < 2)
		return;
	for (size_t k = 0; k < all->n; k++) {
		struct candidate *c = &all->v[k];

		if (!c->usable || c->score[RANK_KIND] != K_WIRED)
			continue;
		inventory_detail(inv, c->iface);
		c->score[RANK_KIND] = kind_score(c->iface, over_nic[c->iface - inv->ifaces.v]);
		if (c->iface->speed_mbps > 0 && c->score[RANK_KIND] == K_WIRED)
			c->score[RANK_SPEED] =
				(int)(c->iface->speed_mbps < INT_MAX ? c->iface->speed_mbps
								     : INT_MAX);
		if (c->score[RANK_SPEED] > fastest)
			fastest = c->score[RANK_SPEED];
	}
	judge_speeds(inv->a, all, fastest);
}

static int by_rank(const void *p, const void *q)
{
	const struct candidate *x = p, *y = q;

	if (x->usable != y->usable)
		return y->usable - x->usable;
	for (size_t s = 0; x->usable && s < RANK_SCORES; s++) {
		if (x->score[s] != y->score[s])
			return x->score[s] < y->score[s] ? 1 : -1;
	}
	return x->iface < y->iface ? -1 : x->iface > y->iface;
}

/* What else Open vSwitch leads to, only the switch knows. */
static bool is_empty_bridge(const struct inventory *inv, const struct iface *i)
{
	return i->kind == IFACE_BRIDGE && !leads_through_switch(i) && !leads_has_port(inv, i);
}

static void judge(const struct inventory *inv, int family, struct candidate *c, bool over_nic,
		  const unsigned *best)
{
	c->why = why_not_candidate(c->iface);
	if (!c->why && is_empty_bridge(inv, c->iface))
		c->why = "bridge without a port: it leads to no other host";
	if (c->why)
		return;
	c->addr = iface_best_addr(inv, c->iface, family);
	c->usable = c->addr != NULL;
	if (!c->usable) {
		c->why = why_no_address(inv, c->iface, family);
		return;
	}
	c->other = iface_best_addr(inv, c->iface,
				   c->addr->addr.sa.sa_family == AF_INET ? AF_INET6 : AF_INET);
	score(inv, c, over_nic, best);
}

void rank_ifaces(struct inventory *inv, int family, candidate_list *ret)
{
	size_t n = inv->ifaces.n;
	bool *over_nic = arena_alloc(inv->a, n + 1);
	unsigned best[2] = {UINT_MAX, UINT_MAX}; /* metrics: IPv4, IPv6 */

	*ret = (candidate_list){.n = n, .cap = n};
	ret->v = arena_alloc(inv->a, n * sizeof(*ret->v));
	leads_mark_uplinks(inv, over_nic);
	for (size_t k = 0; k < inv->defaults.n; k++) {
		const struct default_route *d = &inv->defaults.v[k];
		unsigned *b = &best[d->family != AF_INET];

		*b = d->metric < *b ? d->metric : *b;
	}
	for (size_t k = 0; k < n; k++) {
		ret->v[k].iface = &inv->ifaces.v[k];
		judge(inv, family, &ret->v[k], over_nic[k], best);
	}
	refine(inv, ret, over_nic);
	if (n)
		qsort(ret->v, n, sizeof(*ret->v), by_rank);
	why_ranked(inv, ret);
}

static const struct iface_addr *linklocal4(const struct iface *i)
{
	for (const struct iface_addr *x = i->addrs; x; x = x->next)
		if (addr_is_linklocal4(&x->addr))
			return x;
	return NULL;
}

void rank_add_linklocal(candidate_list *all)
{
	size_t usable = 0;

	while (usable < all->n && all->v[usable].usable)
		usable++;
	for (size_t k = usable; k < all->n; k++) {
		struct candidate c = all->v[k];

		c.addr = linklocal4(c.iface);
		if (c.addr && !why_not_candidate(c.iface)) {
			c.usable = true;
			memset(c.score, 0, sizeof(c.score));
			c.score[RANK_KIND] = K_LINKLOCAL;
			memmove(&all->v[usable + 1], &all->v[usable], (k - usable) * sizeof(c));
			all->v[usable++] = c;
		}
	}
}

int rank_family(const char *word)
{
	if (word && streq(word, "AF_INET"))
		return AF_INET;
	return word && streq(word, "AF_INET6") ? AF_INET6 : 0;
}

bool rank_is_usable(const struct inventory *inv, const struct iface *i)
{
	return !why_not_candidate(i) && iface_best_addr(inv, i, 0);
}

size_t rank_decisive(const candidate_list *all)
{
	size_t n = 0;

	while (n < 2 && n < all->n && all->v[n].usable)
		n++;
	return n == 2 && why_default_route(all) ? 1 : n;
}
