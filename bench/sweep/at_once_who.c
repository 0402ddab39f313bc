/*
 * Which hosts share it. Where all of them meet hosts far away, who keeps his rate while others are
 * slowed stays on his side, and who is slowed goes across. That leaves few groupings of those that
 * networks have; of each the pairs within its groups are measured at once, and nobody may be
 * slowed.
 */
#include "bench/sweep/at_once.h"

#include "bench/sweep/slow.h"

#include <math.h>

enum { GROUPS_MAX = 8, CUTS_MAX = 16 /* units */ };
/* What is between the two says nothing: flows do not share evenly within a fraction of a second. */
static const double SLOWED = 0.75, KEPT = 0.9;
static const double KEPT_EACH = 0.7, KEPT_ALL = 0.85;
static const double NEARLY = 0.6; /* all, so much: that may be other work, and is tried again */

static double better(double x, double y) { return isnan(x) ? y : fmax(x, y); }

static void take_rates(struct at_once_seen *s, const duo_list *l, double *alone, size_t *known)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct duo *d = &l->v[i];

		if (!(d->alone > 0))
			continue;
		s->best[d->a] = better(s->best[d->a], d->alone);
		s->best[d->b] = better(s->best[d->b], d->alone);
		alone[(*known)++] = d->alone;
	}
}

void seen_begin(struct at_once_seen *s, int units, const duo_list *l, size_t n, struct arena *a)
{
	size_t all = (size_t)units * (size_t)units, known = 0;
	double *alone = arena_alloc(a, (n * (size_t)units + 1) * sizeof(*alone));

	s->n = units;
	s->best = arena_alloc(a, (size_t)units * sizeof(*s->best));
	s->share = arena_alloc(a, all * sizeof(*s->share));
	for (int i = 0; i < units; i++)
		s->best[i] = NAN;
	s->might = arena_alloc(a, all * sizeof(*s->might));
	for (size_t i = 0; i < all; i++)
		s->share[i] = s->might[i] = NAN;
	for (size_t i = 0; i < n; i++)
		take_rates(s, &l[i], alone, &known);
	s->usual = slow_median(alone, known, a);
	for (size_t i = 0; i < n; i++)
		if (at_once_judge(&l[i], a).is == AT_ONCE_SLOWER)
			seen_slower(s, &l[i]);
}

/* Its share of what the slower end reaches. */
static double share_of(const struct at_once_seen *s, const struct duo *d, double *ret_of)
{
	double x = isnan(s->best[d->a]) ? s->usual : s->best[d->a];
	double y = isnan(s->best[d->b]) ? s->usual : s->best[d->b];

	*ret_of = fmin(x, y);
	return d->at_once / *ret_of;
}

void seen_slower(struct at_once_seen *s, const duo_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct duo *d = &l->v[i];
		size_t at = (size_t)(d->a * s->n + d->b), back = (size_t)(d->b * s->n + d->a);
		double of, share = share_of(s, d, &of);

		/* of NAN and a number: the number */
		s->share[at] = s->share[back] = fmin(s->share[at], share);
		s->might[at] = s->might[back] = fmin(s->might[at], fmax(share, d->unhindered / of));
	}
}

bool seen_keep(const struct at_once_seen *s, const duo_list *l, double *ret_share)
{
	double sum = 0, possible = 0;
	bool each = true;

	for (size_t i = 0; i < l->n; i++) {
		double of, share = share_of(s, &l->v[i], &of);

		share = fmax(share, l->v[i].unhindered / of);
		each &= share >= KEPT_EACH;
		sum += fmin(share, 1) * of;
		possible += of;
	}
	*ret_share = sum / possible;
	return each && *ret_share >= KEPT_ALL;
}

/* --- groupings ---------------------------------------------------------------------------- */

static int neighbours(int i, int n, int groups) { return i * groups / n; }

static int strided(int i, int n, int groups)
{
	(void)n;
	return i % groups;
}

/* Of four: the first with the last. */
static int mirrored(int i, int n, int groups)
{
	(void)groups;
	return i != 0 && i != n - 1;
}

static struct grouping *put(int n, int groups, int (*of)(int i, int n, int groups), struct arena *a,
			    grouping_list *ret)
{
	struct grouping g = grouping_all(n, a);

	g.groups = groups;
	for (int i = 0; i < n; i++)
		g.of[i] = of(i, n, groups);
	*LIST_ADD(a, ret) = g;
	return &ret->v[ret->n - 1];
}

/* Two groups of neighbours, the first of @size. */
static void put_cut(int n, int size, struct arena *a, grouping_list *ret)
{
	struct grouping *g = put(n, 2, neighbours, a, ret);

	for (int i = 0; i < n; i++)
		g->of[i] = i >= size;
}

void groupings_of(int n, struct arena *a, grouping_list *ret)
{
	*ret = (grouping_list){0};
	for (int even = 1; even >= 0; even--)
		for (int k = 2; k <= GROUPS_MAX && k <= n / 2; k++) {
			if ((n % k == 0) != even)
				continue;
			(void)put(n, k, neighbours, a, ret);
			(void)put(n, k, strided, a, ret);
		}
	if (n == 4)
		(void)put(n, 2, mirrored, a, ret);
	for (int size = 2; n <= CUTS_MAX && size <= n - 2; size++)
		if (size != (n + 1) / 2) /* that one is there */
			put_cut(n, size, a, ret);
}

bool grouping_fits(const struct grouping *g, const struct at_once_seen *s)
{
	for (int i = 0; i < g->n; i++)
		for (int k = 0; k < i; k++) {
			int at = i * s->n + k; /* NAN is neither */

			if (g->of[i] == g->of[k] ? s->might[at] < SLOWED : s->share[at] >= KEPT)
				return false;
		}
	return true;
}

static int try_pairs(struct at_once_seen *s, duo_list *l, const struct at_once_way *way,
		     struct at_once_groups *ret, bool *ret_keep, double *ret_share, struct err *e)
{
	*ret_share = 1;
	*ret_keep = false;
	for (int k = 0; k < 2 && !*ret_keep && *ret_share >= NEARLY; k++) {
		if (way->measure(way->arg, l, e))
			return -1;
		ret->trials++;
		*ret_keep = seen_keep(s, l, ret_share);
	}
	if (!*ret_keep)
		seen_slower(s, l);
	return 0;
}

/* Both ways to pair them: one alone may leave those out who would meet others. */
static int try_one(struct at_once_seen *s, const struct grouping *g, const struct at_once_way *way,
		   struct at_once_groups *ret, bool *ret_keep, struct err *e)
{
	double least = INFINITY;

	*ret_keep = true;
	for (int near = 0; near < 2 && *ret_keep; near++) {
		duo_list l;
		double share;

		duos_within(g, near, way->a, &l);
		if (try_pairs(s, &l, way, ret, ret_keep, &share, e))
			return -1;
		least = fmin(least, share);
	}
	ret->share = fmin(1, least);
	return 0;
}

int at_once_find(struct at_once_seen *s, const struct at_once_way *way, struct at_once_groups *ret,
		 struct err *e)
{
	grouping_list ways;
	bool keep;

	*ret = (struct at_once_groups){.share = NAN};
	groupings_of(s->n, way->a, &ways);
	for (size_t i = 0; i < ways.n && ret->trials < AT_ONCE_TRIALS; i++) {
		if (!grouping_fits(&ways.v[i], s))
			continue;
		if (try_one(s, &ways.v[i], way, ret, &keep, e))
			return -1;
		if (keep) {
			ret->g = &ways.v[i];
			return 0;
		}
	}
	ret->share = NAN;
	return 0;
}
