/*
 * Silence of a host on our own network: is it there at all? Its card answers for its address
 * whatever its firewall says, so a neighbour that has not answered since we began to ask may be
 * down, and one that never did has nobody behind it.
 */
#include "probes/port/own.h"

#include "lib/core/units.h"

#include <linux/neighbour.h>

/* The kernel's times are rough. */
static const uint64_t SLACK_NS = 20 * NS_PER_MS;

/* IPv6's question for a neighbour is a packet that rules may drop, too: of a host's that is up. */
static enum port_cause cause_of(const struct neighbour *x, bool v4, uint64_t elapsed_ns)
{
	if (!x->known)
		return CAUSE_DROPPED;
	if (x->state & (NUD_INCOMPLETE | NUD_FAILED))
		return v4 ? CAUSE_NOT_SEEN : CAUSE_NOT_SEEN6;
	if (x->state & (NUD_NOARP | NUD_PERMANENT))
		return CAUSE_DROPPED;
	return x->confirmed_ns <= elapsed_ns + SLACK_NS ? CAUSE_DROPPED : CAUSE_DOWN;
}

/* One that answers on another port is there. */
static bool is_there(const struct reach *r, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++)
		if (port_state_is_reached(r->v[i].state) || addr_equal(&r->v[i].by, r->v[i].addr))
			return true;
	return false;
}

void own_seen(struct reach *r, const target_list *targets, struct facts *f, uint64_t began_ns)
{
	uint64_t elapsed_ns = now_ns() - began_ns;

	for (size_t i = 0, n; i < r->n; i += n) {
		const struct reach_way *way = &r->ways[r->v[i].target - targets->v];
		struct neighbour x = {0};
		enum port_cause cause;
		struct err ignored;

		n = reach_of_address(r, i);
		if (!r->v[i].addr || !way->is_near || r->v[i].addr != r->v[i].target->addrs.v ||
		    is_there(r, i, n) ||
		    netlink_neighbour(&f->nl, r->v[i].addr, way->oif, &x, &ignored) < 0)
			continue;
		cause = cause_of(&x, r->v[i].addr->sa.sa_family == AF_INET, elapsed_ns);
		for (size_t k = i; k < i + n; k++)
			if (r->v[k].cause == CAUSE_DROPPED)
				r->v[k].cause = (uint8_t)cause;
	}
}

/* Silence; or, of a Linux before 6.0, a no that came at once from nobody it knew: a neighbour that
 * was being looked for already fails as quickly as a firewall rejects. */
static bool may_be_unfound(const struct reach_result *x)
{
	return x->cause == CAUSE_DROPPED ||
	       (x->cause == CAUSE_HOST_FIREWALL && !x->by.sa.sa_family);
}

void own_unfound(struct reach *r, const target_list *targets, struct facts *f)
{
	for (size_t i = 0, n; i < r->n; i += n) {
		const struct reach_way *way = &r->ways[r->v[i].target - targets->v];
		struct neighbour x = {0};
		struct err ignored;

		n = reach_of_address(r, i);
		if (!r->v[i].addr || !way->on_link || !may_be_unfound(&r->v[i]) ||
		    is_there(r, i, n) ||
		    netlink_neighbour(&f->nl, r->v[i].addr, way->oif, &x, &ignored) < 0 ||
		    !x.known || !(x.state & (NUD_INCOMPLETE | NUD_FAILED)))
			continue;
		for (size_t k = i; k < i + n; k++)
			if (may_be_unfound(&r->v[k]))
				r->v[k].cause = CAUSE_NOBODY;
	}
}
