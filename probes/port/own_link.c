/*
 * Silence, since this host's own card has no link: nothing leaves it, and nobody else is to blame.
 * A bridge has none before one of its ports forwards, which spanning tree may keep it from.
 */
#include "probes/port/own.h"

#include "lib/host/sysroot.h"
#include "probes/port/fix.h"

/* How likely a bridge's port leads to other hosts: a card, a pair of a namespace, a VM's. */
static unsigned leads_out(const struct iface *port)
{
	return iface_is_nic(port) ? 2 : port->kind == IFACE_VETH;
}

const struct iface *own_waiting_port(struct facts *f, int bridge)
{
	enum { LISTENING = 1, LEARNING = 2, FORWARDING = 3 };
	const struct inventory *inv = &f->inv;
	const struct iface *ret = NULL;
	unsigned best = 1;

	for (size_t i = 0; i < inv->ifaces.n; i++) {
		const struct iface *x = &inv->ifaces.v[i];
		bool counts = x->master == bridge && leads_out(x) >= best;
		int64_t state =
			counts ? sysroot_int(f->a, 0, "/sys/class/net/%s/brport/state", x->name)
			       : 0;

		if (!counts)
			continue;
		if (leads_out(x) > best || state == FORWARDING)
			ret = NULL;
		best = leads_out(x) + (state == FORWARDING); /* no other of its kind is needed */
		if (!ret && (state == LISTENING || state == LEARNING))
			ret = x;
	}
	return ret;
}

static void explain(struct reach_way *way, const struct iface *out, struct facts *f)
{
	const struct iface *port =
		out->kind == IFACE_BRIDGE ? own_waiting_port(f, out->index) : NULL;

	way->unlinked = out->name;
	if (!port)
		return;
	way->waits = port->name;
	way->undo = arena_printf(f->a, FIX_STP, out->name, port->name);
}

void own_links(struct reach *r, const target_list *targets, struct facts *f)
{
	for (size_t i = 0; i < r->n; i++) {
		struct reach_way *way = &r->ways[r->v[i].target - targets->v];
		const struct iface *out = way->oif ? inventory_by_index(&f->inv, way->oif) : NULL;

		if (!out || !iface_is_up(out) || iface_is_running(out) ||
		    !own_is_silent(&r->v[i]) || r->v[i].addr != r->v[i].target->addrs.v)
			continue;
		if (!way->unlinked)
			explain(way, out, f);
		r->v[i].cause = CAUSE_OWN_LINK;
	}
}
