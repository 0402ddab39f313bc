#include "lib/host/rank.h"
#include "lib/core/units.h"
#include "lib/host/nat.h"

#include <limits.h>
#include <linux/if.h>
#include <linux/if_addr.h>

enum { SLOWER = 4 };

/* K_NAT: behind all that could lead to another host. */
enum kind_score { K_NAT, K_REST, K_BRIDGE, K_VETH, K_MACVLAN, K_WIRELESS, K_WIRED };

static const char nat_words[] = "the translated network (NAT) that a virtual machine has for "
				"itself, where no other host reaches it";

/* --- why an interface is not usable ---------------------------------------- */

static bool has_global_scope(const struct iface *i)
{
	for (const struct iface_addr *x = i->addrs; x; x = x->next) {
		if (iface_addr_is_usable(x))
			return true;
	}
	return false;
}

static const char *why_kind(const struct iface *i)
{
	switch (i->kind) {
	case IFACE_LOOPBACK:
		return has_global_scope(i) ? "loopback: if your routers announce its address "
					     "(BGP to the host), name it yourself"
					   : "loopback";
	case IFACE_CONTAINER:
		return "container network: its addresses mean nothing to other hosts";
	case IFACE_DUMMY:
		return "dummy: no cable behind it";
	default:
		return NULL;
	}
}

static const char *why_state(const struct iface *i)
{
	if (!iface_is_up(i))
		return "down";
	if (iface_is_running(i))
		return NULL;
	if (i->operstate == IF_OPER_DORMANT)
		return "dormant: waiting for Wi-Fi or 802.1X to let it in";
	return i->kind == IFACE_BRIDGE || i->kind == IFACE_VETH
		       ? "no carrier: nothing is connected to it"
		       : "no carrier: is the cable in?";
}

static const char *why_member(const struct inventory *inv, const struct iface *i)
{
	const struct iface *m = i->master ? inventory_by_index(inv, i->master) : NULL;

	if (!m)
		return "no address";
	switch (m->kind) {
	case IFACE_BOND:
		return "member of a bond: the bond has the address";
	case IFACE_BRIDGE:
	case IFACE_CONTAINER:
		return "port of a bridge: the bridge has the address";
	case IFACE_PHYSICAL: /* Hyper-V's netvsc, virtio's failover */
		return "fast path of another interface, which has the address";
	default:
		return "no address: part of another interface";
	}
}

static const char *why_family(int family)
{
	return family == AF_INET ? "no IPv4 address a peer could use"
				 : "no IPv6 address a peer could use";
}

static const char *why_address(const struct inventory *inv, const struct iface *i, int family)
{
	bool tentative = false, duplicate = false, linklocal = false;

	if (!i->naddrs || i->master)
		return why_member(inv, i);
	if (family && has_global_scope(i))
		return why_family(family);
	for (const struct iface_addr *x = i->addrs; x; x = x->next) {
		enum addr_class c = addr_class(&x->addr);

		linklocal |= c == ADDR_LINKLOCAL;
		if (c == ADDR_LINKLOCAL || c == ADDR_LOOPBACK)
			continue;
		duplicate |= (x->flags & IFA_F_DADFAILED) != 0;
		tentative |= (x->flags & IFA_F_TENTATIVE) != 0;
	}
	if (duplicate)
		return "its IPv6 address is a duplicate: another machine has it too";
	if (tentative)
		return "its IPv6 address is still being checked for duplicates";
	return linklocal ? "link-local address only" : "no address a peer could use";
}

/* --- scores ------------------------------------------------------------------ */

/* A bridge over a real NIC is how virtual machine hosts carry their own address. */
static void mark_uplinks(const struct inventory *inv, bool *over_nic)
{
	for (size_t k = 0; k < inv->ifaces.n; k++) {
		const struct iface *i = &inv->ifaces.v[k];
		const struct iface *m = i->master ? inventory_by_index(inv, i->master) : NULL;

		if (m && m->kind == IFACE_BRIDGE && i->kind <= IFACE_IPOIB)
			over_nic[m - inv->ifaces.v] = true;
	}
}

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
	return i->default_metric <= best[!v4] ? 2 : 1;
}

static void score(const struct inventory *inv, struct candidate *c, bool over_nic,
		  const unsigned *best)
{
	const struct iface *i = c->iface;

	c->score[RANK_KIND] = nat_is_own(inv, i) ? K_NAT : kind_score(i, over_nic);
	c->score[RANK_FAST] = 1;
	c->score[RANK_DEFAULT] = default_score(i, c->addr->addr.sa.sa_family, best);
	c->score[RANK_PRIVATE] = addr_class(&c->addr->addr) == ADDR_PRIVATE;
	c->score[RANK_SPEED] = 0;
	c->score[RANK_MTU] = i->mtu < INT_MAX ? (int)i->mtu : INT_MAX;
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
	for (size_t k = 0; k < all->n; k++) {
		int speed = all->v[k].score[RANK_SPEED];

		if (speed > 0 && speed <= fastest / SLOWER)
			all->v[k].score[RANK_FAST] = 0;
	}
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

/* --- why it is where it is --------------------------------------------------- */

static enum rank_score deciding(const struct candidate *x, const struct candidate *y)
{
	unsigned s = 0;

	while (s < RANK_SCORES && x->score[s] == y->score[s])
		s++;
	return s;
}

static bool is_nat(const struct candidate *c) { return c->score[RANK_KIND] == K_NAT; }

static const char *speed_text(const struct candidate *c, struct unit_buf *b)
{
	return c->score[RANK_SPEED] ? format_mbps(b, (uint64_t)c->score[RANK_SPEED])
				    : "unknown speed";
}

/*
 * What ranks behind a NIC is hardly ever chosen for its kind: where it alone has the default
 * route, that says more, and it can be said whatever the runner-up is.
 */
static bool default_says_more(const candidate_list *all)
{
	const struct candidate *v = all->v;

	if (v[0].score[RANK_KIND] == K_WIRED || v[0].score[RANK_DEFAULT] < 2)
		return false;
	for (size_t k = 1; k < all->n; k++) {
		if (v[k].usable && v[k].score[RANK_DEFAULT] == 2)
			return false;
	}
	return true;
}

static const char *why_first(struct arena *a, const candidate_list *all)
{
	const struct candidate *c = &all->v[0], *next = &all->v[1];
	const char *other;
	struct unit_buf b;

	if (all->n < 2 || !next->usable)
		return is_nat(c) ? arena_printf(a, "the only usable interface, in %s", nat_words)
				 : "the only usable interface";
	other = next->iface->name;
	if (default_says_more(all))
		return "has the default route";
	if (is_nat(next) && !is_nat(c))
		return arena_printf(a, "%s is in %s", other, nat_words);
	switch (deciding(c, next)) {
	case RANK_KIND:
		if (next->iface->wireless && !c->iface->wireless)
			return arena_printf(a, "wired; %s is wireless", other);
		return arena_printf(a, "%s; %s is %s", iface_kind_name(c->iface->kind), other,
				    iface_kind_name(next->iface->kind));
	case RANK_FAST:
	case RANK_SPEED:
		return arena_printf(a, "faster than %s: %s", other, speed_text(c, &b));
	case RANK_DEFAULT:
		return "has the default route";
	case RANK_PRIVATE:
		return arena_printf(a, "its address is private, that of %s is not", other);
	case RANK_MTU:
		return arena_printf(a, "larger MTU than %s: %u", other, c->iface->mtu);
	case RANK_SCORES:
		break;
	}
	return arena_printf(a, "first of several equals (%s is the next)", other);
}

static const char *why_later(struct arena *a, const struct candidate *c,
			     const struct candidate *best)
{
	const char *name = best->iface->name;

	switch (deciding(c, best)) {
	case RANK_KIND:
		if (is_nat(c))
			return arena_printf(a, "usable, but in %s: %s comes first", nat_words,
					    name);
		return arena_printf(
			a, "usable, but %s: %s comes first",
			c->iface->wireless ? "wireless" : iface_kind_name(c->iface->kind), name);
	case RANK_FAST:
		return arena_printf(a, "usable, but much slower than %s", name);
	case RANK_DEFAULT:
		return arena_printf(a, "usable, but the default route goes through %s", name);
	case RANK_PRIVATE:
		return arena_printf(a, "usable, but its address is not private as %s's is", name);
	case RANK_SPEED:
		return arena_printf(a, "usable, but slower than %s, or of unknown speed", name);
	case RANK_MTU:
		return arena_printf(a, "usable, but with a smaller MTU than %s", name);
	case RANK_SCORES:
		break;
	}
	return arena_printf(a, "usable, as good as %s, which the kernel lists first", name);
}

/* The sentence depends on little, so a thousand interfaces share a few. */
static void explain(struct arena *a, candidate_list *all)
{
	const char *told[IFACE_OTHER + 1][2][2][RANK_SCORES + 1] = {0};
	struct candidate *v = all->v;

	if (!all->n || !v[0].usable)
		return;
	v[0].why = why_first(a, all);
	for (size_t k = 1; k < all->n && v[k].usable; k++) {
		const struct iface *i = v[k].iface;
		const char **why =
			&told[i->kind][i->wireless][is_nat(&v[k])][deciding(&v[k], &v[0])];

		if (!*why)
			*why = why_later(a, &v[k], &v[0]);
		v[k].why = *why;
	}
}

static const char *why_not(const struct iface *i)
{
	const char *why = why_kind(i);

	return why ? why : why_state(i);
}

static void judge(const struct inventory *inv, int family, struct candidate *c, bool over_nic,
		  const unsigned *best)
{
	c->why = why_not(c->iface);
	if (c->why)
		return;
	c->addr = iface_best_addr(inv, c->iface, family);
	c->usable = c->addr != NULL;
	if (!c->usable) {
		c->why = why_address(inv, c->iface, family);
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
	mark_uplinks(inv, over_nic);
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
	explain(inv->a, ret);
}

int rank_family(const char *word)
{
	if (word && streq(word, "AF_INET"))
		return AF_INET;
	return word && streq(word, "AF_INET6") ? AF_INET6 : 0;
}

bool rank_is_usable(const struct inventory *inv, const struct iface *i)
{
	return !why_not(i) && iface_best_addr(inv, i, 0);
}

size_t rank_decisive(const candidate_list *all)
{
	size_t n = 0;

	while (n < 2 && n < all->n && all->v[n].usable)
		n++;
	return n == 2 && default_says_more(all) ? 1 : n;
}
