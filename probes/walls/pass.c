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
	if (who->is_all || (n->is_outside ? who->is_internet : who->is_network) ||
	    has_any(n, &who->labels))
		return true;
	for (size_t i = 0; i < who->ranges.n; i++)
		if (addr_could_be_in(at, &who->ranges.v[i].net, who->ranges.v[i].bits))
			return true;
	return false;
}

/* What denies a part of the private addresses may deny a node whose own is not known, or not: that
 * is said (say_doubt.c), and not taken for a fact. */
static bool is_certain(const struct wall_whom *who, const union addr *at)
{
	if (at || who->is_all || who->is_network || who->labels.n)
		return true;
	for (size_t i = 0; i < who->ranges.n; i++)
		if (!who->ranges.v[i].bits)
			return true;
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

bool wall_rule_is_about(const struct wall_rule *r, const struct wall_flow *f, bool is_egress)
{
	const struct wall_node *owner = is_egress ? f->from : f->to;
	const struct wall_node *peer = is_egress ? f->to : f->from;
	const union addr *owner_at = is_egress ? f->src : f->dst;
	const union addr *peer_at = is_egress ? f->dst : f->src;

	return r->is_egress == is_egress && (!r->targets.n || has_any(owner, &r->targets)) &&
	       wall_whom_is(&r->owner, owner, owner_at) && wall_whom_is(&r->peer, peer, peer_at) &&
	       (r->is_allow ||
		(is_certain(&r->owner, owner_at) && is_certain(&r->peer, peer_at))) &&
	       takes_source(r, f->source);
}

struct wall_view wall_look(const struct wall *wall, const struct wall_flow *f, bool is_egress,
			   struct arena *a)
{
	struct wall_view v = {.wall = wall, .is_egress = is_egress};

	for (size_t i = 0; i < wall->rules.n; i++)
		if (wall_rule_is_about(&wall->rules.v[i], f, is_egress))
			*LIST_ADD(a, &v.rules) = &wall->rules.v[i];
	return v;
}

/* An ICMP type is no port: rules do not tell those apart. */
static bool reaches(const struct wall_rule *r, int proto, uint16_t port)
{
	for (size_t i = 0; i < r->reaches.n; i++) {
		const struct wall_reach *x = &r->reaches.v[i];

		if ((x->proto == -1 || x->proto == proto) &&
		    (!x->ports.n || port_spans_hold(&x->ports, port)))
			return true;
	}
	return false;
}

struct wall_verdict wall_ask(const struct wall_view *v, int proto, uint16_t port)
{
	for (size_t i = 0; i < v->rules.n; i++)
		if (reaches(v->rules.v[i], proto, port))
			return (struct wall_verdict){v->rules.v[i]->is_allow, v->rules.v[i]};
	return (struct wall_verdict){.passes = v->is_egress && v->wall->lets_out};
}

static bool overlap(const port_spans *x, const port_spans *y)
{
	for (size_t i = 0; i < x->n; i++)
		for (size_t k = 0; k < y->n; k++)
			if (x->v[i].first <= y->v[k].last && y->v[k].first <= x->v[i].last)
				return true;
	return false;
}

bool wall_rule_reaches(const struct wall_rule *r, const port_spans *ports)
{
	for (size_t i = 0; i < r->reaches.n; i++) {
		const struct wall_reach *x = &r->reaches.v[i];

		if ((x->proto == -1 || x->proto == WALLS_TCP) &&
		    (!x->ports.n || overlap(&x->ports, ports)))
			return true;
	}
	return false;
}

/* --- ranges of ports: between two edges of the rules nothing changes ------------------------ */

static void add_edges(const struct wall_view *v, struct arena *a, port_edges *l,
		      struct port_span within)
{
	for (size_t k = 0; k < v->rules.n; k++)
		for (size_t x = 0; x < v->rules.v[k]->reaches.n; x++) {
			const port_spans *s = &v->rules.v[k]->reaches.v[x].ports;

			for (size_t p = 0; p < s->n; p++) {
				port_edges_add(a, l, s->v[p].first, within);
				port_edges_add(a, l, s->v[p].last + 1, within);
			}
		}
}

static bool is_closed(const void *arg, uint16_t port)
{
	return !wall_ask(arg, WALLS_TCP, port).passes;
}

void wall_closed(const struct wall_view *v, struct port_span within, struct arena *a,
		 port_spans *ret)
{
	AUTO(arena_done) struct arena mine = {0};
	port_edges edges = {0};

	add_edges(v, &mine, &edges, within);
	port_spans_where(a, &edges, within, is_closed, v, ret);
}

struct way {
	LIST(struct wall_view) views;
	int proto;
};

static void add_views(const struct walls *w, const struct wall_flow *f, bool is_egress,
		      struct arena *a, struct way *ret)
{
	const struct wall_node *owner = is_egress ? f->from : f->to;

	for (size_t i = 0; i < owner->walls.n; i++) {
		const struct wall *one = wall_find(w, owner->walls.v[i]);

		if (one)
			*LIST_ADD(a, &ret->views) = wall_look(one, f, is_egress, a);
	}
}

static bool is_open(const void *arg, uint16_t port)
{
	const struct way *way = arg;

	for (size_t i = 0; i < way->views.n; i++)
		if (!wall_ask(&way->views.v[i], way->proto, port).passes)
			return false;
	return true;
}

void walls_open(const struct walls *w, const struct wall_flow *f, int proto,
		struct port_span within, port_spans *ret)
{
	AUTO(arena_done) struct arena mine = {0};
	struct way way = {.proto = proto};
	port_edges edges = {0};

	add_views(w, f, true, &mine, &way);
	add_views(w, f, false, &mine, &way);
	for (size_t i = 0; i < way.views.n; i++)
		add_edges(&way.views.v[i], &mine, &edges, within);
	port_spans_where(w->a, &edges, within, is_open, &way, ret);
}
