#include "bench/sweep/drift.h"

#include <math.h>

/* Where eight and eight rows differ by chance alone, once in 10,000 times all of one are below. */
enum { PARTS = 5, LEAST_ROWS = 8 };
static const double SETTLE_S = 3;    /* what has rested is faster in its first seconds */
static const double FAVOUR_MOST = 4; /* what is beyond that is slow, however busy the machine */

struct part {
	size_t n;
	double v[COURSE_POINTS]; /* sorted once median() was asked for */
	double median;
};

static double value_of(const struct course_point *p, bool unhindered)
{
	double v = course_busbw(p);

	return unhindered ? v / fmax(1 - p->robbed, 1 / FAVOUR_MOST) : v;
}

static void cut(const struct course *c, bool unhindered, struct part *parts)
{
	size_t first = 0;
	double from, took;

	while (first + 1 < c->npoints && c->points[first].at_s < SETTLE_S)
		first++;
	from = c->points[first].at_s;
	took = c->points[c->npoints - 1].at_s - from;
	for (size_t i = first; i < c->npoints; i++) {
		double at = took > 0 ? (c->points[i].at_s - from) / took * PARTS : 0;
		struct part *p = &parts[at < PARTS ? (size_t)at : PARTS - 1];

		p->v[p->n++] = value_of(&c->points[i], unhindered);
	}
	for (size_t i = 0; i < PARTS; i++)
		parts[i].median = course_median(parts[i].v, parts[i].n);
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
		bool enough = p->n >= LEAST_ROWS && last->n >= LEAST_ROWS;
		bool below = enough && last->median < p->median * (1 - limit) && is_apart(last, p);

		if (!enough || below < *ret_sunk)
			continue;
		if (!best || below > *ret_sunk || p->median > best->median)
			best = p;
		*ret_sunk = below;
	}
	return best;
}

/* false: too few rows to know. */
static bool has_sunk(const struct course *c, bool unhindered, double limit, struct drift *ret,
		     bool *ret_sunk)
{
	struct part parts[PARTS] = {0};
	const struct part *best;

	if (!c->npoints)
		return false;
	cut(c, unhindered, parts);
	best = find_best(parts, limit, ret_sunk);
	if (!best)
		return false;
	ret->last = parts[PARTS - 1].median;
	ret->best = fmax(best->median, ret->last);
	ret->share = 1 - ret->last / ret->best;
	return true;
}

/* When three rows in a row were last, in the middle, nearer to the best. */
static double since(const struct course *c, const struct drift *d)
{
	double limit = (d->best + d->last) / 2;

	for (size_t i = c->npoints; i-- > 2;) {
		double v[] = {course_busbw(&c->points[i - 2]), course_busbw(&c->points[i - 1]),
			      course_busbw(&c->points[i])};

		if (course_median(v, ARRAY_LEN(v)) >= limit)
			return c->points[i].at_s;
	}
	return c->points[0].at_s;
}

void drift_find(const struct course *c, double limit, struct drift *ret)
{
	struct drift unhindered = {0};
	bool sunk, really = true;

	*ret = (struct drift){0};
	if (!has_sunk(c, false, limit, ret, &sunk))
		return;
	ret->kind = DRIFT_NONE;
	if (!sunk)
		return;
	ret->since_s = since(c, ret);
	(void)has_sunk(c, true, limit, &unhindered, &really);
	ret->kind = really ? DRIFT_SUNK : DRIFT_BUSY;
}
