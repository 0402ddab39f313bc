/*
 * Routers limit their ICMP: Linux tells a host of one way that it has not a few times, then once a
 * second. "No such network" and "nobody has that address" do not depend on the port, so what one
 * port of an address was told goes for those that got no answer.
 */
#include "probes/port/reach.h"

static bool is_told(const struct reach_result *x)
{
	return x->state == PORT_UNREACHABLE &&
	       (x->cause == CAUSE_NO_ROUTE_THERE || x->cause == CAUSE_NOBODY_THERE);
}

static bool is_silent(const struct reach_result *x)
{
	return (x->state == PORT_FILTERED && x->cause == CAUSE_DROPPED) || x->state == PORT_SILENT;
}

/* Of one address; true: it was told. Where another of its ports is reached, some of several ways
 * are broken. */
static bool spread(struct reach_result *v, size_t n)
{
	const struct reach_result *told = NULL;

	for (size_t i = 0; i < n; i++) {
		if (port_state_is_reached(v[i].state))
			return false;
		told = told ?: is_told(&v[i]) ? &v[i] : NULL;
	}
	for (size_t i = 0; told && i < n; i++)
		if (is_silent(&v[i])) {
			v[i].state = told->state;
			v[i].cause = told->cause;
			v[i].by = told->by;
		}
	return told;
}

static const struct reach_result *teller(const struct reach *r, const struct port_target *first,
					 const union addr *gateway)
{
	for (size_t i = 0; i < r->n; i += reach_of_address(r, i)) {
		const struct reach_way *way = &r->ways[r->v[i].target - first];

		if (is_told(&r->v[i]) && way->has_gateway && addr_equal(&way->gateway, gateway))
			return &r->v[i];
	}
	return NULL;
}

/* All of another target is silent: that router may just have had enough. */
static void doubt(const struct reach *r, const struct port_target *first, size_t at,
		  struct reach_way *way, struct arena *a)
{
	const struct reach_result *told = NULL;
	struct addr_text by;

	if (way->has_gateway && is_silent(&r->v[at]))
		told = teller(r, first, &way->gateway);
	if (told)
		way->limits = arena_printf(
			a, "or %s, which had said of %s that %s, says so only so often",
			addr_print(&told->by, &by), told->target->given,
			told->cause == CAUSE_NOBODY_THERE ? "nobody has its address"
							  : "there is no route to it");
}

void reach_spread(struct reach *r, const target_list *targets, struct arena *a)
{
	bool any = false;

	for (size_t i = 0, n; i < r->n; i += n) {
		n = reach_of_address(r, i);
		any |= spread(&r->v[i], n);
	}
	for (size_t i = 0, n; any && i < r->n; i += n) {
		n = reach_of_address(r, i);
		doubt(r, targets->v, i, &r->ways[r->v[i].target - targets->v], a);
	}
}
