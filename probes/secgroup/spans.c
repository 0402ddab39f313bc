/* Ranges of ports: between two edges of the rules nothing changes, so only those are tried. */
#include "probes/secgroup/judge.h"

static void group_edges(const struct sg_model *m, const struct sg_node *n, struct arena *a,
			port_edges *l, struct port_span within)
{
	for (size_t i = 0; i < n->groups.n; i++) {
		const struct sg_group *g = sg_group_find(m, n->groups.v[i]);

		for (size_t k = 0; g && k < g->rules.n; k++) {
			port_edges_add(a, l, g->rules.v[k].first, within);
			port_edges_add(a, l, g->rules.v[k].last + 1, within);
		}
	}
}

static void acl_edges(const struct sg_acl *acl, struct arena *a, port_edges *l,
		      struct port_span within)
{
	for (size_t i = 0; acl && i < acl->entries.n; i++) {
		port_edges_add(a, l, acl->entries.v[i].first, within);
		port_edges_add(a, l, acl->entries.v[i].last + 1, within);
	}
}

struct question {
	const struct sg_model *m;
	const struct sg_flow *flow;
	enum sg_stage stage;
};

static bool is_stopped(const void *arg, uint16_t port)
{
	const struct question *q = arg;
	struct sg_flow one = *q->flow;

	one.port = port;
	return q->stage == SG_STAGES ? sg_stopped_at(q->m, &one) != SG_STAGES
				     : !sg_passes(q->m, &one, q->stage);
}

void sg_closed_ports(const struct sg_model *m, const struct sg_flow *f, enum sg_stage stage,
		     struct port_span within, port_spans *ret)
{
	AUTO(arena_done) struct arena a = {0};
	const struct question q = {m, f, stage};
	port_edges edges = {0};

	group_edges(m, f->from, &a, &edges, within);
	group_edges(m, f->to, &a, &edges, within);
	acl_edges(sg_acl_of(m, f->from->subnet), &a, &edges, within);
	acl_edges(sg_acl_of(m, f->to->subnet), &a, &edges, within);
	port_spans_where(m->a, &edges, within, is_stopped, &q, ret);
}
