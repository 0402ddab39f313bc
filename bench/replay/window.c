#include "bench/replay/window.h"

#include "bench/replay/period.h"
#include "lib/core/stats.h"

#include <math.h>

/* The rank that has most to tell; its calls as symbols. */
struct witness {
	const uint32_t *calls;
	const int64_t *at_ns;
	uint32_t *s;
	size_t n, period;
};

static uint32_t coarse(const struct traffic *t, uint32_t kind)
{
	const struct traffic_kind *k = kind == UINT32_MAX ? NULL : &t->kinds.v[kind];

	return k ? k->family << 8 | (uint32_t)k->coll->kind : kind;
}

/* What comes within a step is most of what there is; else a long row of one thing hides another. */
static bool tells_most(const struct witness *w)
{
	size_t at = period_last(w->s, w->n, w->period), told = 0;

	for (size_t i = 0; i < w->n; i++)
		for (size_t k = at; k < at + w->period; k++)
			if (w->s[k] == w->s[i]) {
				told++;
				break;
			}
	return told * 10 >= w->n * 7;
}

static void try_period(struct witness *w)
{
	w->period = period_find(w->s, w->n);
	if (w->period && !tells_most(w))
		w->period = 0;
}

/* By kind, or where sizes are others each time (experts' tokens) by what is called. */
static void find_period(struct witness *w, const struct order *o, const struct traffic *t)
{
	for (size_t i = 0; i < w->n; i++)
		w->s[i] = o->events[w->calls[i]].kind;
	try_period(w);
	if (w->period)
		return;
	for (size_t i = 0; i < w->n; i++)
		w->s[i] = coarse(t, w->s[i]);
	try_period(w);
}

static void find_witness(struct witness *w, const struct order *o, const int64_t *at_ns,
			 struct arena *a)
{
	size_t best = 0;

	for (size_t r = 0; r < o->ranks; r++)
		if (o->from[r + 1] - o->from[r] > o->from[best + 1] - o->from[best])
			best = r;
	*w = (struct witness){.calls = o->calls + o->from[best],
			      .at_ns = at_ns + o->from[best],
			      .n = o->from[best + 1] - o->from[best]};
	w->s = arena_alloc(a, (w->n + 1) * sizeof(*w->s));
}

/* From a call to the same one a step later: the median. */
static double step_s(const struct witness *w, struct arena *a)
{
	size_t n = w->n - w->period, kept = 0;
	double *v = arena_alloc(a, (n + 1) * sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		int64_t from = w->at_ns[i], to = w->at_ns[i + w->period];

		if (w->s[i] == w->s[i + w->period] && from > 0 && to > from)
			v[kept++] = (double)(to - from) / 1e9;
	}
	return median(v, kept);
}

static uint32_t size_of(const struct order *o, const struct traffic *t, uint32_t event)
{
	return t->groups.v[o->events[event].group].n;
}

/* A step that begins behind what most ranks do together cuts no other rank's in two. */
static size_t begin_of(const struct witness *w, const struct order *o, const struct traffic *t)
{
	size_t last = period_last(w->s, w->n, w->period), best = last;
	uint32_t most = 0;

	for (size_t i = 0; i < w->period && i < last; i++) {
		uint32_t n = size_of(o, t, w->calls[last - i - 1]);

		if (n > most) {
			most = n;
			best = last - i;
		}
	}
	return best;
}

/* --- moves ---------------------------------------------------------------------------------------
 */

static int by_place(const void *a, const void *b, void *events)
{
	const struct order_event *v = events, *x = &v[*(const uint32_t *)a],
				 *y = &v[*(const uint32_t *)b];

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* Those of one kind and level go together. */
static void make_moves(const struct order *o, const uint32_t *chosen, size_t n, struct traffic *t)
{
	for (size_t i = 0, to; i < n; i = to) {
		const struct order_event *e = &o->events[chosen[i]];
		uint32_t *groups;

		for (to = i; to < n && o->events[chosen[to]].level == e->level &&
			     o->events[chosen[to]].kind == e->kind;
		     to++)
			;
		if (e->kind == UINT32_MAX)
			continue;
		t->kinds.v[e->kind].times += (double)(to - i);
		if (t->moves.n > TRAFFIC_MOVES)
			continue;
		groups = arena_alloc(t->a, (to - i) * sizeof(*groups));
		for (size_t k = i; k < to; k++)
			groups[k - i] = o->events[chosen[k]].group;
		*LIST_ADD(t->a, &t->moves) =
			(struct traffic_move){e->kind, (uint32_t)(to - i), groups};
	}
	if (t->moves.n > TRAFFIC_MOVES)
		t->moves.n = 0; /* half of it in order would say nothing */
	for (size_t i = 0; i < t->kinds.n; i++)
		if (t->kinds.v[i].groups.n)
			t->kinds.v[i].times /= (double)t->kinds.v[i].groups.n;
}

void window_find(const struct order *o, const int64_t *at_ns, struct traffic *t, struct arena *a)
{
	uint32_t *chosen = arena_alloc(a, (o->nevents + 1) * sizeof(*chosen));
	uint32_t lo = 0, hi = UINT32_MAX;
	struct witness w;
	size_t n = 0, at;

	find_witness(&w, o, at_ns, a);
	find_period(&w, o, t);
	if (w.period) {
		at = begin_of(&w, o, t);
		lo = o->events[w.calls[at]].level;
		hi = at + w.period < w.n ? o->events[w.calls[at + w.period]].level : UINT32_MAX;
		t->steps = w.n / w.period;
		t->step_s = step_s(&w, a);
	}
	for (size_t i = 0; i < o->nevents; i++)
		if (o->events[i].level >= lo && o->events[i].level < hi)
			chosen[n++] = (uint32_t)i;
	qsort_r(chosen, n, sizeof(*chosen), by_place, o->events);
	make_moves(o, chosen, n, t);
	if (!w.period && w.n > 1 && w.at_ns[0] > 0 && w.at_ns[w.n - 1] > w.at_ns[0])
		t->step_s = (double)(w.at_ns[w.n - 1] - w.at_ns[0]) / 1e9;
	if (n < o->nevents)
		*LIST_ADD(t->a, &t->notes) = arena_printf(
			t->a,
			"a step is %zu of the recording's %zu collectives, which hold %zu "
			"steps",
			n, o->nevents, (size_t)t->steps);
}
