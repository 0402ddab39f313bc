#include "lib/net/port_spans.h"

#include "lib/core/stats.h"
#include "lib/core/text.h"

void port_spans_add(struct arena *a, port_spans *l, uint16_t first, uint16_t last)
{
	if (l->n && l->v[l->n - 1].last + 1 == first)
		l->v[l->n - 1].last = last;
	else
		*LIST_ADD(a, l) = (struct port_span){first, last};
}

bool port_spans_hold(const port_spans *l, uint16_t port)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].first <= port && port <= l->v[i].last)
			return true;
	return false;
}

const char *port_spans_text(struct arena *a, const port_spans *l)
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

void port_spans_invert(struct arena *a, const port_spans *l, struct port_span within,
		       port_spans *ret)
{
	uint32_t at = within.first;

	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].first > at)
			port_spans_add(a, ret, (uint16_t)at, (uint16_t)(l->v[i].first - 1));
		at = l->v[i].last + 1u;
	}
	if (at <= within.last)
		port_spans_add(a, ret, (uint16_t)at, within.last);
}

void port_edges_add(struct arena *a, port_edges *l, int edge, struct port_span within)
{
	if (edge > within.first && edge <= within.last)
		*LIST_ADD(a, l) = edge;
}

void port_spans_where(struct arena *a, port_edges *l, struct port_span within,
		      bool (*is_in)(const void *arg, uint16_t port), const void *arg,
		      port_spans *ret)
{
	int at = within.first;

	sort_ints(l->v, l->n);
	for (size_t i = 0; i <= l->n; i++) {
		int next = i < l->n ? l->v[i] : within.last + 1;

		if (next > at && is_in(arg, (uint16_t)at))
			port_spans_add(a, ret, (uint16_t)at, (uint16_t)(next - 1));
		at = next;
	}
}
