#include "bench/replay/apart.h"

#include <math.h>
#include <stdlib.h>

/* Processes that communicators join, and when they were at it. */
struct set {
	size_t of; /* the process that stands for them */
	double first_us, last_us;
};

static size_t find(size_t *up, size_t i)
{
	while (up[i] != i)
		i = up[i] = up[up[i]];
	return i;
}

static void join(const struct insp_book *b, const struct insp_order *o, size_t *up)
{
	for (size_t i = 0; i < b->processes.n; i++)
		up[i] = i;
	for (size_t c = 0; c < b->comms.n; c++)
		for (size_t i = o->from[c] + 1; i < o->from[c + 1]; i++) {
			size_t x = b->members.v[o->v[i]].process;

			up[find(up, x)] = find(up, b->members.v[o->v[i - 1]].process);
		}
}

static int latest_first(const void *a, const void *b)
{
	const struct set *x = a, *y = b;

	return (x->last_us < y->last_us) - (x->last_us > y->last_us);
}

static void measure(const struct insp_book *b, size_t *up, struct set *v)
{
	for (size_t i = 0; i < b->processes.n; i++)
		v[i] = (struct set){i, INFINITY, -INFINITY};
	for (size_t i = 0; i < b->processes.n; i++) {
		struct set *s = &v[find(up, i)];

		s->first_us = fmin(s->first_us, b->processes.v[i].first_us);
		s->last_us = fmax(s->last_us, b->processes.v[i].last_us);
	}
}

struct apart apart_newest(const struct insp_book *b, const struct insp_order *o, struct arena *a)
{
	size_t n = b->processes.n, taken = 0;
	size_t *up = arena_alloc(a, (n + 1) * sizeof(*up));
	struct set *v = arena_alloc(a, (n + 1) * sizeof(*v));
	bool *is_newest = arena_alloc(a, n + 1);
	struct apart ret = {.keep = arena_alloc(a, n + 1), .ago_s = NAN};
	double begin = INFINITY;

	join(b, o, up);
	measure(b, up, v);
	qsort(v, n, sizeof(*v), latest_first);
	for (; taken < n && (!taken || v[taken].last_us >= begin); taken++) {
		is_newest[v[taken].of] = true;
		begin = fmin(begin, v[taken].first_us);
	}
	if (taken < n && isfinite(v[taken].last_us)) /* those that stand for nobody come last */
		ret.ago_s = (begin - v[taken].last_us) / 1e6;
	for (size_t i = 0; i < n; i++)
		ret.kept += ret.keep[i] = is_newest[find(up, i)];
	return ret;
}
