#include "bench/inspector/look.h"

#include "lib/core/stats.h"

#include <math.h>

enum { WHOLE_MIN = 8, DRIFT_MIN = 100, STALL_MIN = 20, WARM = 5 };
static const double DRIFT = 0.1; /* what noise does not reach between hosts: as a burn-in has it */
static const double STALL_TIMES = 20, STALL_US = 10000;

struct insp_order insp_order(const struct insp_book *b, struct arena *a)
{
	struct insp_order o = {arena_alloc(a, (b->members.n + 1) * sizeof(*o.v)),
			       arena_alloc(a, (b->comms.n + 2) * sizeof(*o.from))};

	for (size_t i = 0; i < b->members.n; i++)
		o.from[b->members.v[i].comm + 2]++;
	for (size_t i = 2; i < b->comms.n + 2; i++)
		o.from[i] += o.from[i - 1];
	for (size_t i = 0; i < b->members.n; i++)
		o.v[o.from[b->members.v[i].comm + 1]++] = (uint32_t)i;
	return o;
}

static double *sorted(const double *v, size_t n, struct arena *a)
{
	double *copy = arena_alloc(a, (n + 1) * sizeof(*copy));

	if (n)
		memcpy(copy, v, n * sizeof(*copy));
	sort_doubles(copy, n);
	return copy;
}

/* But for a tenth of each, the last ones are all below the first. */
static void look_drift(struct insp_stat *s, struct arena *a)
{
	size_t n = s->n / 10;
	double *first, *last;

	s->first = s->last = NAN;
	if (s->n < DRIFT_MIN)
		return;
	first = sorted(s->v, n, a);
	last = sorted(s->v + s->n - n, n, a);
	s->first = sorted_quantile(first, n, 0.5);
	s->last = sorted_quantile(last, n, 0.5);
	s->sunk = s->last < s->first * (1 - DRIFT) &&
		  sorted_quantile(last, n, 0.9) < sorted_quantile(first, n, 0.1);
}

static bool counts(const struct insp_book *b, const struct insp_stat *s, const struct insp_op *o)
{
	return !o->outlier && o->busbw > 0 && (!s->joined || insp_is_whole(b, o));
}

static void look_values(const struct insp_book *b, struct insp_stat *s, struct arena *a)
{
	double *v = arena_alloc(a, (s->g->to - s->g->from + 1) * sizeof(*v));
	double *us = arena_alloc(a, (s->g->to - s->g->from + 1) * sizeof(*us)), mean = 0, wait = 0;

	for (size_t i = s->g->from; i < s->g->to; i++) {
		const struct insp_op *o = &b->ops.v[i];

		if (!counts(b, s, o))
			continue;
		us[s->n] = (double)o->least_us;
		v[s->n++] = (double)o->busbw;
		mean += (double)o->sum_us / o->seen;
		wait += (double)o->sum_us / o->seen - (double)o->least_us;
	}
	s->v = v;
	s->typical_us = median(us, s->n);
	s->waited = s->whole && mean > 0 ? wait / mean : NAN;
}

static void look_group(const struct insp_book *b, struct insp_stat *s, struct arena *a)
{
	size_t whole = 0, all = 0;
	double *v;

	for (size_t i = s->g->from; i < s->g->to; i++) {
		whole += insp_is_whole(b, &b->ops.v[i]);
		all++;
	}
	s->joined = s->g->func < INSP_COLLS && s->c->members > 1 && whole &&
		    (whole >= WHOLE_MIN || whole == all);
	s->whole = s->joined && s->c->members == s->c->ranks;
	look_values(b, s, a);
	v = sorted(s->v, s->n, a);
	s->median = sorted_quantile(v, s->n, 0.5);
	s->p10 = sorted_quantile(v, s->n, 0.1);
	s->p90 = sorted_quantile(v, s->n, 0.9);
	s->bytes = s->g->n ? s->g->sum_bytes / (double)s->g->n : 0;
	look_drift(s, a);
}

void insp_look(const struct insp_book *b, struct arena *a, insp_stats *ret)
{
	*ret = (insp_stats){0};
	for (size_t i = 0; i < b->groups.n; i++) {
		const struct insp_group *g = &b->groups.v[i];

		if (b->comms.v[g->comm].ranks < 2)
			continue;
		*LIST_ADD(a, ret) = (struct insp_stat){.g = g, .c = &b->comms.v[g->comm]};
		look_group(b, &ret->v[ret->n - 1], a);
	}
}

static void look_stall(const struct insp_book *b, const struct insp_stat *s,
		       const struct insp_op *o, struct arena *a, insp_stalls *ret)
{
	bool together = insp_is_whole(b, o) && s->c->members == s->c->ranks &&
			(double)o->least_us >= STALL_TIMES * s->typical_us;
	double us = (double)(together ? o->least_us : o->most_us);

	if (us < STALL_TIMES * s->typical_us || us < STALL_US)
		return;
	*LIST_ADD(a, ret) = (struct insp_stall){s, o, us, us / s->typical_us, together};
}

size_t insp_look_stalls(const struct insp_book *b, const insp_stats *all, struct arena *a,
			insp_stalls *ret)
{
	size_t looked_at = 0;

	*ret = (insp_stalls){0};
	for (size_t i = 0; i < all->n; i++) {
		const struct insp_stat *s = &all->v[i];

		if (s->n < STALL_MIN || s->g->func >= INSP_COLLS)
			continue;
		looked_at++;
		/* the first ones make connections, and meet ranks that start later */
		for (size_t k = s->g->from + WARM; k < s->g->to; k++)
			look_stall(b, s, &b->ops.v[k], a, ret);
	}
	return looked_at;
}
