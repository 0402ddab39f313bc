/* Ranges of ports: between two edges of the rules nothing changes, so only those are tried. */
#include "probes/secgroup/judge.h"

#include "lib/core/stats.h"
#include "lib/core/text.h"

typedef LIST(int) edge_list;

static void add_edge(struct arena *a, edge_list *l, int edge, struct sg_span within)
{
	if (edge > within.first && edge <= within.last)
		*LIST_ADD(a, l) = edge;
}

static void group_edges(const struct sg_model *m, const struct sg_node *n, struct arena *a,
			edge_list *l, struct sg_span within)
{
	for (size_t i = 0; i < n->groups.n; i++) {
		const struct sg_group *g = sg_group_find(m, n->groups.v[i]);

		for (size_t k = 0; g && k < g->rules.n; k++) {
			add_edge(a, l, g->rules.v[k].first, within);
			add_edge(a, l, g->rules.v[k].last + 1, within);
		}
	}
}

static void acl_edges(const struct sg_acl *acl, struct arena *a, edge_list *l,
		      struct sg_span within)
{
	for (size_t i = 0; acl && i < acl->entries.n; i++) {
		add_edge(a, l, acl->entries.v[i].first, within);
		add_edge(a, l, acl->entries.v[i].last + 1, within);
	}
}

static void add_span(struct arena *a, span_list *l, uint16_t first, uint16_t last)
{
	if (l->n && l->v[l->n - 1].last + 1 == first)
		l->v[l->n - 1].last = last;
	else
		*LIST_ADD(a, l) = (struct sg_span){first, last};
}

void sg_closed_ports(const struct sg_model *m, const struct sg_flow *f, enum sg_stage stage,
		     struct sg_span within, span_list *ret)
{
	AUTO(arena_done) struct arena a = {0};
	struct sg_flow one = *f;
	edge_list edges = {0};

	*LIST_ADD(&a, &edges) = within.first;
	group_edges(m, f->from, &a, &edges, within);
	group_edges(m, f->to, &a, &edges, within);
	acl_edges(sg_acl_of(m, f->from->subnet), &a, &edges, within);
	acl_edges(sg_acl_of(m, f->to->subnet), &a, &edges, within);
	sort_ints(edges.v, edges.n);
	for (size_t i = 0; i < edges.n; i++) {
		int next = i + 1 < edges.n ? edges.v[i + 1] : within.last + 1;

		one.port = (uint16_t)edges.v[i];
		if (next == edges.v[i])
			continue;
		if (stage == SG_STAGES ? sg_stopped_at(m, &one) != SG_STAGES
				       : !sg_passes(m, &one, stage))
			add_span(m->a, ret, one.port, (uint16_t)(next - 1));
	}
}

const char *sg_spans_text(struct arena *a, const span_list *l)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < l->n; i++) {
		text_addf(&t, "%s%u", i ? "," : "", l->v[i].first);
		if (l->v[i].last != l->v[i].first)
			text_addf(&t, "-%u", l->v[i].last);
	}
	return t.s;
}

void sg_spans_invert(struct arena *a, const span_list *l, struct sg_span within, span_list *ret)
{
	uint32_t at = within.first;

	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].first > at)
			add_span(a, ret, (uint16_t)at, (uint16_t)(l->v[i].first - 1));
		at = l->v[i].last + 1u;
	}
	if (at <= within.last)
		add_span(a, ret, (uint16_t)at, within.last);
}
