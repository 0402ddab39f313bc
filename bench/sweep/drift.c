#include "bench/sweep/drift.h"

#include "lib/core/stats.h"

#include <math.h>

enum { PARTS = 5 };
/* Of the time that ranks wanted processors and others had them: so much more of it than in the best
 * part, or so much altogether, and nobody can tell what else was slow. */
static const double BUSIER = 0.1, BUSY = 0.5;

struct part {
	size_t n;
	double v[COURSE_POINTS], robbed[COURSE_POINTS]; /* sorted, by cut() */
	double median, median_robbed;
};

static void cut(const struct course *c, struct part *parts)
{
	size_t first = 0;
	double from, took;

	while (first + 1 < c->npoints && c->points[first].at_s < DRIFT_SETTLE_S)
		first++;
	from = c->points[first].at_s;
	took = c->points[c->npoints - 1].at_s - from;
	for (size_t i = first; i < c->npoints; i++) {
		double at = took > 0 ? (c->points[i].at_s - from) / took * PARTS : 0;
		struct part *p = &parts[at < PARTS ? (size_t)at : PARTS - 1];

		p->v[p->n] = course_busbw(&c->points[i]);
		p->robbed[p->n++] = c->points[i].robbed;
	}
	for (size_t i = 0; i < PARTS; i++) {
		parts[i].median = median(parts[i].v, parts[i].n);
		parts[i].median_robbed = median(parts[i].robbed, parts[i].n);
	}
}

/* But for a tenth of each, the one's rows are all below the other's. */
static bool is_apart(const struct part *low, const struct part *high)
{
	return low->v[low->n - 1 - (low->n - 1) / 10] < high->v[(high->n - 1) / 10];
}

/* The best of those that the last one is below; else of all. NULL: too few rows to know. The best
 * of all may have the fall in its midst, and be apart from nothing. */
static const struct part *find_best(const struct part *parts, double limit, bool *ret_sunk)
{
	const struct part *last = &parts[PARTS - 1], *best = NULL;

	*ret_sunk = false;
	for (const struct part *p = parts; p < last; p++) {
		bool enough = p->n >= DRIFT_LEAST_ROWS && last->n >= DRIFT_LEAST_ROWS;
		bool below = enough && last->median < p->median * (1 - limit) && is_apart(last, p);

		if (!enough || below < *ret_sunk)
			continue;
		if (!best || below > *ret_sunk || p->median > best->median)
			best = p;
		*ret_sunk = below;
	}
	return best;
}

/* When three rows in a row were last, in the middle, nearer to the best. */
static double since(const struct course *c, const struct drift *d)
{
	double limit = (d->best + d->last) / 2;

	for (size_t i = c->npoints; i-- > 2;) {
		double v[] = {course_busbw(&c->points[i - 2]), course_busbw(&c->points[i - 1]),
			      course_busbw(&c->points[i])};

		if (median(v, ARRAY_LEN(v)) >= limit)
			return c->points[i].at_s;
	}
	return c->points[0].at_s;
}

static bool is_busy(const struct part *last, const struct part *best)
{
	return last->median_robbed > BUSY || last->median_robbed > best->median_robbed + BUSIER;
}

void drift_find(const struct course *c, double limit, struct drift *ret)
{
	struct part parts[PARTS] = {0};
	const struct part *last = &parts[PARTS - 1], *best;
	bool sunk = false;

	*ret = (struct drift){0};
	if (!c->npoints)
		return;
	cut(c, parts);
	best = find_best(parts, limit, &sunk);
	if (!best || !(best->median > 0)) /* one rank alone moves nothing */
		return;
	ret->last = last->median;
	ret->best = fmax(best->median, ret->last);
	ret->share = 1 - ret->last / ret->best;
	ret->kind = !sunk ? DRIFT_NONE : is_busy(last, best) ? DRIFT_BUSY : DRIFT_SUNK;
	if (sunk)
		ret->since_s = since(c, ret);
}
