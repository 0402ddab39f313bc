/*
 * One of several ways to a host is dead: packets are dealt out by their ports, so that some
 * connections work and others never do. Where this host's own route has several next hops, or one
 * port is silent and others are not, it is asked once more from several ports of ours, twice: a
 * rule does not mind those, and one that limits or a link that loses packets does not choose the
 * same ones again.
 */
#include "probes/port/own.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <sys/random.h>

enum {
	FEW = 4,
	EACH = 16,
	DOUBTFUL = 2,
	ENOUGH = 3,
	FIRST_PORT = 33000,
	PORTS = 25000,
	STEP = 1567
};
static const uint64_t PATIENCE_NS = 700 * NS_PER_MS;

struct doubt {
	size_t first, n, at; /* results of one address, and the silent one that is asked again */
	struct reach_way *way;
	struct hops hops;
	struct scan_probe once[EACH], again[EACH]; /* the one backwards */
};
struct doubts {
	struct doubt v[FEW];
	size_t n;
};

/* By number of the next hop. */
struct ways {
	bool fails[NETLINK_HOPS], works[NETLINK_HOPS];
	bool dead[NETLINK_HOPS], others[NETLINK_HOPS]; /* all that went by it failed, or nothing */
};

/* One that is silent; @ret_met: another port has answered. */
static size_t find_silent(const struct reach *r, size_t from, size_t n, bool *ret_met)
{
	size_t ret = SIZE_MAX;

	*ret_met = false;
	for (size_t i = from; i < from + n; i++) {
		if (r->v[i].cause == CAUSE_DROPPED && ret == SIZE_MAX)
			ret = i;
		*ret_met |= port_state_is_reached(r->v[i].state);
	}
	return ret;
}

static void aim(struct doubt *d, const struct reach_result *x)
{
	uint16_t start = 0;

	(void)!getrandom(&start, sizeof(start), 0);
	for (unsigned i = 0; i < EACH; i++) {
		struct scan_probe *p = &d->once[i];

		/* all over them; with no factor in common with PORTS: all differ */
		*p = (struct scan_probe){.to = *x->addr};
		p->from_port = (uint16_t)(FIRST_PORT + (start + STEP * i) % PORTS);
		addr_set_port(&p->to, x->port);
		d->again[EACH - 1 - i] = *p;
	}
}

static void choose(struct reach *r, const target_list *targets, struct facts *f, struct doubts *q)
{
	for (size_t i = 0, n; i < r->n && q->n < FEW; i += n) {
		struct doubt *d = &q->v[q->n];
		bool met;

		n = reach_of_address(r, i);
		*d = (struct doubt){.first = i, .n = n, .at = find_silent(r, i, n, &met)};
		if (d->at == SIZE_MAX || r->v[i].addr != r->v[i].target->addrs.v)
			continue;
		d->way = &r->ways[r->v[i].target - targets->v];
		netlink_hops(&f->nl, r->v[i].addr, f->a, &d->hops);
		if (!met && !d->hops.n)
			continue;
		aim(d, &r->v[d->at]);
		q->n++;
	}
}

static int ask(struct doubts *q, const struct reach_opts *o, bool again, struct err *e)
{
	const struct scan_opts so = {.device = o->device,
				     .source = o->source,
				     .patience_ns = o->patience_ns < PATIENCE_NS ? o->patience_ns
										 : PATIENCE_NS};
	struct scan_probe all[FEW * EACH];
	int rc;

	for (size_t i = 0; i < q->n; i++)
		memcpy(&all[i * EACH], again ? q->v[i].again : q->v[i].once, sizeof(q->v[i].once));
	rc = scan_tcp(all, q->n * EACH, &so, e);
	for (size_t i = 0; i < q->n; i++)
		memcpy(again ? q->v[i].again : q->v[i].once, &all[i * EACH], sizeof(q->v[i].once));
	return rc;
}

/* 1: it was answered both times, 0: neither time, -1: not known. */
static int result_of(const struct doubt *d, size_t i)
{
	enum tcp_state x = d->once[i].state, y = d->again[EACH - 1 - i].state;

	if (x == TCP_FILTERED && y == TCP_FILTERED)
		return 0;
	return (x == TCP_OPEN || x == TCP_REFUSED) && x == y ? 1 : -1;
}

static size_t hop_of(const struct doubt *d, struct facts *f, size_t i)
{
	union addr from;

	if (!d->way->source)
		return SIZE_MAX;
	from = d->way->source->addr;
	addr_set_port(&from, d->once[i].from_port);
	return netlink_hop_of(&f->nl, &from, &d->once[i].to, &d->hops);
}

/* By which of our own next hops went what failed, and by which what came through. */
static void find_hops(const struct doubt *d, struct facts *f, struct ways *ret)
{
	*ret = (struct ways){0};
	for (size_t i = 0; i < EACH && d->hops.n; i++) {
		int result = result_of(d, i);
		size_t hop = result < 0 ? SIZE_MAX : hop_of(d, f, i);

		if (hop == SIZE_MAX)
			continue;
		(result ? ret->works : ret->fails)[hop] = true;
	}
	for (size_t i = 0; i < d->hops.n; i++) {
		ret->dead[i] = ret->fails[i] && !ret->works[i];
		ret->others[i] = !ret->fails[i];
	}
}

static const char *joined(const struct doubt *d, const bool *which, const char *between,
			  struct arena *a)
{
	const char *ret = NULL;

	for (size_t i = 0; i < d->hops.n; i++) {
		const char *one = which[i] ? netlink_hop_text(&d->hops, i, a) : NULL;

		if (one)
			ret = ret ? arena_printf(a, "%s%s%s", ret, between, one) : one;
	}
	return ret;
}

/* The same route by @good alone. */
static const char *route_by(const struct doubt *d, const bool *good, struct arena *a)
{
	const char *by = joined(d, good, " nexthop ", a);

	if (!by || !d->hops.network)
		return NULL;
	return arena_printf(a, "%s route replace %s %s%s", addr_ip_command(d->hops.family),
			    d->hops.network, strstr(by, " nexthop ") ? "nexthop " : "", by);
}

/* All of it went by one of several, as addresses alone decide: that one, or whatever else. */
static void suspect(struct doubt *d, const struct ways *w, struct facts *f)
{
	const char *by = joined(d, w->dead, ", ", f->a);
	size_t n = 0;

	for (size_t i = 0; i < d->hops.n; i++)
		n += w->dead[i];
	if (n != 1 || d->hops.n < 2)
		return;
	d->way->paths = arena_printf(f->a,
				     "or what all of it goes by is dead, %s, one of %zu next hops "
				     "that this host has to it",
				     by, d->hops.n);
	d->way->undo = route_by(d, w->others, f->a);
}

/* The lowest and the highest port from which it was answered, or was not. */
static void find_ends(const struct doubt *d, int result, unsigned *ret_low, unsigned *ret_high)
{
	*ret_low = UINT16_MAX;
	*ret_high = 0;
	for (size_t i = 0; i < EACH; i++) {
		unsigned port = d->once[i].from_port;

		if (result_of(d, i) != result)
			continue;
		*ret_low = port < *ret_low ? port : *ret_low;
		*ret_high = port > *ret_high ? port : *ret_high;
	}
}

/* No path is chosen so: from some port on all are answered, and none below, or the other way round.
 * By chance that would be one in 280 where three differ. */
static bool is_range(struct doubt *d, size_t works, size_t fails, struct facts *f)
{
	unsigned low, high, dead_low, dead_high;
	bool up;

	find_ends(d, 1, &low, &high);
	find_ends(d, 0, &dead_low, &dead_high);
	up = dead_high < low;
	if (works < ENOUGH || fails < ENOUGH || (!up && high > dead_low))
		return false;
	d->way->paths =
		arena_printf(f->a,
			     "it is answered from source ports %s %u and never from those %s "
			     "%u: a rule for a range of them, such as a network ACL that lets "
			     "answers in to some ephemeral ports only",
			     up ? "above" : "below", up ? dead_high : dead_low,
			     up ? "below" : "above", up ? low : high);
	d->way->undo = arena_printf(f->a, "sysctl -w net.ipv4.ip_local_port_range='%u %u'",
				    up ? low : FIRST_PORT, up ? FIRST_PORT + PORTS : high);
	return true;
}

static void judge(struct reach *r, struct doubt *d, struct facts *f)
{
	size_t works = 0, fails = 0;
	const char *lost;
	struct ways w;

	for (size_t i = 0; i < EACH; i++) {
		works += result_of(d, i) == 1;
		fails += result_of(d, i) == 0;
	}
	if (!fails || works + fails + DOUBTFUL < EACH)
		return;
	d->way->by_port = works > 0;
	if (is_range(d, works, fails, f))
		return;
	find_hops(d, f, &w);
	if (!works) {
		suspect(d, &w, f);
		return;
	}
	lost = joined(d, w.dead, ", ", f->a);
	d->way->paths = arena_printf(f->a,
				     "%zu of %zu source ports reach it, the same ones each "
				     "time%s%s",
				     works, works + fails,
				     lost ? ", and none by this host's next hop " : "", lost ?: "");
	d->way->undo = lost ? route_by(d, w.others, f->a) : NULL;
	for (size_t i = d->first; i < d->first + d->n; i++)
		if (r->v[i].cause == CAUSE_DROPPED)
			r->v[i].cause = CAUSE_PATHS;
}

void own_paths(struct reach *r, const target_list *targets, const struct reach_opts *o,
	       struct facts *f)
{
	struct doubts q = {0};
	struct err ignored;

	if (r->udp)
		return;
	choose(r, targets, f, &q);
	if (!q.n || interrupt_pending() || ask(&q, o, false, &ignored) ||
	    ask(&q, o, true, &ignored) || interrupt_pending())
		return;
	for (size_t i = 0; i < q.n; i++)
		judge(r, &q.v[i], f);
}
