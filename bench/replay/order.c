#include "bench/replay/order.h"

/* Calls by event, beside each other; and those that are the last of their rank. */
struct places {
	uint32_t *call;
	bool *ends;
};

static void find_places(struct order *o, struct arena *a, struct places *p)
{
	size_t calls = o->from[o->ranks], sum = 0;

	p->call = arena_alloc(a, (calls + 1) * sizeof(*p->call));
	p->ends = arena_alloc(a, calls + 1);
	for (size_t i = 0; i < calls; i++)
		o->events[o->calls[i]].n++;
	for (size_t i = 0; i < o->nevents; i++) {
		o->events[i].from = (uint32_t)sum;
		sum += o->events[i].n;
		o->events[i].n = 0;
	}
	for (size_t r = 0; r < o->ranks; r++)
		for (uint32_t i = o->from[r]; i < o->from[r + 1]; i++) {
			struct order_event *e = &o->events[o->calls[i]];

			p->call[e->from + e->n++] = i;
			p->ends[i] = i + 1 == o->from[r + 1];
			e->waits += i > o->from[r];
		}
}

/* Those that came right behind @e on one of its ranks. */
static size_t go_on(struct order *o, const struct places *p, const struct order_event *e,
		    uint32_t *queue, size_t n)
{
	for (uint32_t i = e->from; i < e->from + e->n; i++) {
		uint32_t next = p->ends[p->call[i]] ? UINT32_MAX : o->calls[p->call[i] + 1];
		struct order_event *x;

		if (next == UINT32_MAX)
			continue;
		x = &o->events[next];
		x->level = x->level > e->level + 1 ? x->level : e->level + 1;
		if (!--x->waits)
			queue[n++] = next;
	}
	return n;
}

size_t order_find(struct order *o, struct arena *a)
{
	uint32_t *queue = arena_alloc(a, (o->nevents + 1) * sizeof(*queue)), most = 0;
	struct places p;
	size_t n = 0, tangled = 0;

	find_places(o, a, &p);
	for (size_t i = 0; i < o->nevents; i++)
		if (!o->events[i].waits)
			queue[n++] = (uint32_t)i;
	for (size_t i = 0; i < n; i++) {
		const struct order_event *e = &o->events[queue[i]];

		most = e->level > most ? e->level : most;
		n = go_on(o, &p, e, queue, n);
	}
	for (size_t i = 0; i < o->nevents; i++)
		if (o->events[i].waits) {
			o->events[i].level = most + (uint32_t)++tangled;
			o->events[i].waits = 0;
		}
	return tangled;
}
