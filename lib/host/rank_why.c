#include "lib/host/rank_why.h"

#include "lib/core/units.h"
#include "lib/host/leads.h"
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
		return "network of containers or virtual machines: its addresses mean nothing "
		       "to other hosts";
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

/* Behind "in": the place that it does not lead out of; NULL: there is none. */
static const char *place(const struct inventory *inv, const struct candidate *c)
{
	switch (c->score[RANK_KIND]) {
	case K_NAT:
		return NAT_WORDS;
	case K_VRF:
		return arena_printf(inv->a, "the VRF %s", leads_vrf(inv, c->iface)->name);
	default:
		return NULL;
	}
}

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

/* @in: its place(). */
static const char *why_alone(struct arena *a, const char *why, const char *in)
{
	return in ? arena_printf(a, "%s, in %s", why, in) : why;
}

static const char *why_first(const struct inventory *inv, const candidate_list *all)
{
	const struct candidate *c = &all->v[0], *next = &all->v[1];
	const char *other, *in = place(inv, c);
	struct arena *a = inv->a;
	struct unit_buf b;

	if (all->n < 2 || !next->usable)
		return why_alone(a, "the only usable interface", in);
	other = next->iface->name;
	if (why_default_route(all))
		return why_alone(a, "has the default route", in);
	if (!in && place(inv, next))
		return arena_printf(a, "%s is in %s", other, place(inv, next));
	switch (deciding(c, next)) {
	case RANK_KIND:
		if (next->iface->wireless && !c->iface->wireless)
			return arena_printf(a, "wired; %s is wireless", other);
		return arena_printf(a, "%s; %s is %s", iface_kind_name(c->iface->kind), other,
				    iface_kind_name(next->iface->kind));
	case RANK_FAST:
	case RANK_SPEED:
		return arena_printf(a, "faster than %s: %s", other, speed_text(c, &b));
	case RANK_FRONT:
		return arena_printf(a, "has the default route, and %s is a rail for RDMA", other);
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

static const char *why_later(const struct inventory *inv, const struct candidate *c,
			     const struct candidate *best)
{
	const char *name = best->iface->name, *in = place(inv, c);
	struct arena *a = inv->a;

	switch (deciding(c, best)) {
	case RANK_KIND:
		if (in)
			return arena_printf(a, "usable, but in %s: %s comes first", in, name);
		return arena_printf(
			a, "usable, but %s: %s comes first",
			c->iface->wireless ? "wireless" : iface_kind_name(c->iface->kind), name);
	case RANK_FAST:
		return arena_printf(a, "usable, but much slower than %s", name);
	case RANK_FRONT:
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

/* The sentence depends on little, so a thousand interfaces share a few; not those in VRFs. */
void why_ranked(const struct inventory *inv, candidate_list *all)
{
	const char *told[IFACE_OTHER + 1][2][2][RANK_SCORES + 1] = {0};
	struct candidate *v = all->v;

	if (!all->n || !v[0].usable)
		return;
	v[0].why = why_first(inv, all);
	for (size_t k = 1; k < all->n && v[k].usable; k++) {
		const struct iface *i = v[k].iface;
		int kind = v[k].score[RANK_KIND];
		const char **why =
			&told[i->kind][i->wireless][kind == K_NAT][deciding(&v[k], &v[0])];

		if (kind == K_VRF)
			v[k].why = why_later(inv, &v[k], &v[0]);
		else
			v[k].why = *why = *why ?: why_later(inv, &v[k], &v[0]);
	}
}
