#include "lib/host/rank_why.h"

#include "lib/core/units.h"
#include "lib/host/nat.h"

#include <linux/if.h>
#include <linux/if_addr.h>

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
	if (i->kind == IFACE_BRIDGE)
		return "no carrier: nothing is connected to it, or no port of it forwards yet";
	return i->kind == IFACE_VETH ? "no carrier: nothing is connected to it"
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

const char *why_no_address(const struct inventory *inv, const struct iface *i, int family)
{
	bool linklocal = false;

	if (!i->naddrs || i->master)
		return why_member(inv, i);
	if (family && has_global_scope(i))
		return why_family(family);
	if (iface_addr_in_doubt(i, IFA_F_DADFAILED))
		return "its IPv6 address is a duplicate: another machine has it too";
	if (iface_addr_in_doubt(i, IFA_F_TENTATIVE))
		return "its IPv6 address is still being checked for duplicates";
	for (const struct iface_addr *x = i->addrs; x; x = x->next)
		linklocal |= addr_class(&x->addr) == ADDR_LINKLOCAL;
	return linklocal ? "link-local address only" : "no address a peer could use";
}

const char *why_not_candidate(const struct iface *i)
{
	const char *why = why_kind(i);

	return why ? why : why_state(i);
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

bool why_default_route(const candidate_list *all)
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
		return is_nat(c) ? arena_printf(a, "the only usable interface, in %s", NAT_WORDS)
				 : "the only usable interface";
	other = next->iface->name;
	if (why_default_route(all))
		return is_nat(c) ? arena_printf(a, "has the default route, in %s", NAT_WORDS)
				 : "has the default route";
	if (is_nat(next) && !is_nat(c))
		return arena_printf(a, "%s is in %s", other, NAT_WORDS);
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
			return arena_printf(a, "usable, but in %s: %s comes first", NAT_WORDS,
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
void why_ranked(struct arena *a, candidate_list *all)
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
