/*
 * What fails because of this host's own routes and policy rules: those that forbid it, and those
 * that lead away from the card in whose network the other host is.
 */
#include "probes/port/own.h"

#include "lib/host/straight.h"

#include <net/if.h>

bool own_is_silent(const struct reach_result *x)
{
	return x->cause == CAUSE_DROPPED || x->cause == CAUSE_DOWN || x->cause == CAUSE_NOT_SEEN ||
	       x->cause == CAUSE_NOT_SEEN6 || x->cause == CAUSE_NOBODY ||
	       x->cause == CAUSE_NEIGHBOURS;
}

static bool is_beside(const struct iface_addr *x, const union addr *to)
{
	return x->addr.sa.sa_family == to->sa.sa_family && x->prefix &&
	       !(x->iface->flags & (IFF_LOOPBACK | IFF_POINTOPOINT)) &&
	       addr_in_subnet(to, &x->addr, x->prefix);
}

/*
 * An address of ours in the same network, at a card that is connected. NULL: there is none, or
 * @oif has one too: of two cards in one network either is right.
 */
static const struct iface_addr *beside(const struct facts *f, const union addr *to, int oif)
{
	const struct iface_addr *ret = NULL;

	for (size_t i = 0; i < f->inv.addrs.n; i++) {
		const struct iface_addr *x = &f->inv.addrs.v[i];

		if (!is_beside(x, to))
			continue;
		if (x->iface->index == oif)
			return NULL;
		if (!ret && iface_is_running(x->iface))
			ret = x;
	}
	return ret;
}

/* A route that leads elsewhere is somebody's wish as long as something answers there. */
static void judge_elsewhere(struct reach *r, const struct port_target *t, struct reach_way *way,
			    struct facts *f)
{
	const struct iface_addr *mine = way->oif ? beside(f, t->addrs.v, way->oif) : NULL;
	bool any = false;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].target == t && port_state_is_reached(r->v[i].state))
			return;
	if (!mine)
		return;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].target == t && r->v[i].addr == t->addrs.v && own_is_silent(&r->v[i])) {
			r->v[i].cause = CAUSE_OTHER_WAY;
			any = true;
		}
	if (any)
		way->undo = netlink_prefer_main(&f->nl, mine->iface->index, NULL, t->addrs.v, f->a)
				    ?: netlink_undo_route(&f->nl, NULL, t->addrs.v, f->a);
}

/* The same of one that leads to a router of this network. */
static void judge_router(struct reach *r, const struct port_target *t, struct reach_way *way,
			 struct facts *f)
{
	bool any = false;

	if (way->paths) /* of several routers the dead one is known already */
		return;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].target == t && port_state_is_reached(r->v[i].state))
			return;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].target == t && r->v[i].addr == t->addrs.v && own_is_silent(&r->v[i])) {
			r->v[i].cause = CAUSE_ROUTER;
			any = true;
		}
	if (any)
		way->undo = straight_command(&f->nl, way->source, t->addrs.v, f->a);
}

static const char *undo_forbidding(const struct reach_way *way, const union addr *to,
				   struct facts *f)
{
	const char *undo = netlink_undo_rule(&f->nl, NULL, to, true, f->a);

	if (!undo && way->source)
		undo = netlink_undo_rule(&f->nl, &way->source->addr, to, true, f->a);
	return undo ?: netlink_pass_forbidden(&f->nl, to, f->a);
}

void own_ways(struct reach *r, const target_list *targets, struct facts *f)
{
	for (size_t i = 0; i < targets->n; i++) {
		const struct port_target *t = &targets->v[i];
		struct reach_way *way = &r->ways[i];

		if (t->addrs.n && way->router)
			judge_router(r, t, way, f);
		else if (t->addrs.n && way->reachable)
			judge_elsewhere(r, t, way, f);
		else if (t->addrs.n && way->why && !streq(way->why, "no route"))
			way->undo = undo_forbidding(way, t->addrs.v, f);
	}
}
