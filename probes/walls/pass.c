#include "probes/walls/pass.h"

static bool has_any(const struct wall_node *n, const str_list *labels)
{
	for (size_t i = 0; i < labels->n; i++)
		if (wall_node_has(n, labels->v[i]))
			return true;
	return false;
}

bool wall_whom_is(const struct wall_whom *who, const struct wall_node *n, const union addr *at)
{
	if (who->is_all || who->is_network || has_any(n, &who->labels))
		return true;
	for (size_t i = 0; i < who->ranges.n; i++)
		if (addr_could_be_in(at, &who->ranges.v[i].net, who->ranges.v[i].bits))
			return true;
	return false;
}

/* An ICMP type is no port: rules do not tell those apart. */
static bool reaches(const struct wall_rule *r, int proto, uint16_t port)
{
	for (size_t i = 0; i < r->reaches.n; i++) {
		const struct wall_reach *x = &r->reaches.v[i];

		if (x->proto == -1 && !x->ports.n)
			return true;
		if ((x->proto == proto || (x->proto == -1 && proto != WALLS_ANY)) &&
		    (!x->ports.n || port_spans_hold(&x->ports, port)))
			return true;
	}
	return false;
}

/* What allows must allow all that the kernel may send from; what denies some of it is in the way.
 */
static bool takes_source(const struct wall_rule *r, struct port_span source)
{
	for (size_t i = 0; i < r->from_ports.n; i++) {
		const struct port_span *s = &r->from_ports.v[i];

		if (r->is_allow ? s->first <= source.first && source.last <= s->last
				: s->first <= source.last && source.first <= s->last)
			return true;
	}
	return !r->from_ports.n;
}

static bool matches(const struct wall_rule *r, const struct wall_flow *f, bool is_egress)
{
	const struct wall_node *owner = is_egress ? f->from : f->to;
	const struct wall_node *peer = is_egress ? f->to : f->from;
	const union addr *owner_at = is_egress ? f->src : f->dst;
	const union addr *peer_at = is_egress ? f->dst : f->src;

	return r->is_egress == is_egress && (!r->targets.n || has_any(owner, &r->targets)) &&
	       wall_whom_is(&r->owner, owner, owner_at) && wall_whom_is(&r->peer, peer, peer_at) &&
	       reaches(r, f->proto, f->port) && takes_source(r, f->source);
}

struct wall_verdict wall_ask(const struct wall *wall, const struct wall_flow *f, bool is_egress)
{
	for (size_t i = 0; i < wall->rules.n; i++)
		if (matches(&wall->rules.v[i], f, is_egress))
			return (struct wall_verdict){wall->rules.v[i].is_allow, &wall->rules.v[i]};
	return (struct wall_verdict){.passes = is_egress && wall->lets_out};
}

static bool pass_side(const struct walls *w, const struct wall_flow *f, bool is_egress)
{
	const struct wall_node *owner = is_egress ? f->from : f->to;

	for (size_t i = 0; i < owner->walls.n; i++) {
		const struct wall *one = wall_find(w, owner->walls.v[i]);

		if (one && !wall_ask(one, f, is_egress).passes)
			return false;
	}
	return true;
}

bool walls_pass(const struct walls *w, const struct wall_flow *f)
{
	return pass_side(w, f, true) && pass_side(w, f, false);
}

static bool overlap(const port_spans *x, const port_spans *y)
{
	for (size_t i = 0; i < x->n; i++)
		for (size_t k = 0; k < y->n; k++)
			if (x->v[i].first <= y->v[k].last && y->v[k].first <= x->v[i].last)
				return true;
	return false;
}

bool wall_rule_stops(const struct wall_rule *r, const struct wall_flow *f, const port_spans *ports)
{
	struct wall_flow one = *f;

	for (size_t i = 0; i < r->reaches.n && !r->is_allow; i++) {
		const struct wall_reach *x = &r->reaches.v[i];

		one.port = x->ports.n ? x->ports.v[0].first : ports->v[0].first;
		if ((!x->ports.n || overlap(&x->ports, ports)) && matches(r, &one, r->is_egress))
			return true;
	}
	return false;
}

/* --- ranges of ports: between two edges of the rules nothing changes ------------------------ */

static void add_edges(const struct wall *wall, struct arena *a, port_edges *l,
		      struct port_span within)
{
	for (size_t k = 0; k < wall->rules.n; k++)
		for (size_t x = 0; x < wall->rules.v[k].reaches.n; x++) {
			const port_spans *s = &wall->rules.v[k].reaches.v[x].ports;

			for (size_t p = 0; p < s->n; p++) {
				port_edges_add(a, l, s->v[p].first, within);
				port_edges_add(a, l, s->v[p].last + 1, within);
			}
		}
}

static void add_edges_of(const struct walls *w, const struct wall_node *n, struct arena *a,
			 port_edges *l, struct port_span within)
{
	for (size_t i = 0; i < n->walls.n; i++) {
		const struct wall *one = wall_find(w, n->walls.v[i]);

		if (one)
			add_edges(one, a, l, within);
	}
}

struct question {
	const struct walls *w;
	const struct wall *wall;
	const struct wall_flow *flow;
	bool is_egress;
};

static bool is_closed(const void *arg, uint16_t port)
{
	const struct question *q = arg;
	struct wall_flow one = *q->flow;

	one.port = port;
	return !wall_ask(q->wall, &one, q->is_egress).passes;
}

void wall_closed(const struct wall *wall, const struct wall_flow *f, bool is_egress,
		 struct port_span within, struct arena *a, port_spans *ret)
{
	AUTO(arena_done) struct arena mine = {0};
	const struct question q = {NULL, wall, f, is_egress};
	port_edges edges = {0};

	add_edges(wall, &mine, &edges, within);
	port_spans_where(a, &edges, within, is_closed, &q, ret);
}

static bool is_open(const void *arg, uint16_t port)
{
	const struct question *q = arg;
	struct wall_flow one = *q->flow;

	one.port = port;
	return walls_pass(q->w, &one);
}

void walls_open(const struct walls *w, const struct wall_flow *f, struct port_span within,
		port_spans *ret)
{
	AUTO(arena_done) struct arena mine = {0};
	const struct question q = {.w = w, .flow = f};
	port_edges edges = {0};

	add_edges_of(w, f->from, &mine, &edges, within);
	add_edges_of(w, f->to, &mine, &edges, within);
	port_spans_where(w->a, &edges, within, is_open, &q, ret);
}
