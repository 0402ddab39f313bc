#include "bench/sweep/course.h"

#include "lib/core/stats.h"

#include <math.h>

/* --- times of iterations, in classes ------------------------------------------------------- */

static const double FIRST_S = 1e-7, CLASS = 0.02; /* logarithms */

static size_t class_of(double seconds)
{
	double n = seconds > FIRST_S ? log(seconds / FIRST_S) / CLASS : 0;

	return n < COURSE_CLASSES - 1 ? (size_t)n : COURSE_CLASSES - 1;
}

/* The middle of the class that nearest rank falls into, within what was seen. */
static double percentile(const struct course_way *w, double share)
{
	double wanted = fmax(1, ceil(w->count * share)), seen = 0;

	for (size_t i = 0; i < COURSE_CLASSES; i++) {
		seen += w->classes[i];
		if (seen >= wanted)
			return fmin(w->most_s,
				    fmax(w->least_s, FIRST_S * exp(((double)i + 0.5) * CLASS)));
	}
	return NAN;
}

static void add_time(struct course_way *w, double seconds)
{
	w->classes[class_of(seconds)]++;
	w->sum += seconds;
	w->squares += seconds * seconds;
	w->count++;
}

/* --- a row comes ----------------------------------------------------------------------------- */

void course_init(struct course *c, const struct coll_case *of)
{
	memset(c, 0, sizeof(*c));
	c->c = *of;
	c->way[0].wrong = c->way[1].wrong = -1;
}

bool course_is_of(const struct course *c, const struct coll_case *of)
{
	return c->c.coll == of->coll && c->c.type == of->type && c->c.op == of->op &&
	       c->c.root == of->root && c->c.sizes.count == of->sizes.count;
}

static void add_ranks(double **sums, struct arena *a, const double *v, size_t n)
{
	if (!v)
		return;
	if (!*sums)
		*sums = arena_alloc(a, n * sizeof(**sums));
	for (size_t i = 0; i < n; i++)
		(*sums)[i] += v[i];
}

static void add_way(struct course_way *w, struct arena *a, const struct measurement *m,
		    size_t ranks, bool is_first)
{
	w->seconds += m->seconds;
	w->shown += m->shown;
	w->least_s = is_first ? m->min : fmin(w->least_s, m->min);
	w->most_s = is_first ? m->max : fmax(w->most_s, m->max);
	w->least = is_first ? m->busbw : fmin(w->least, m->busbw);
	w->most = is_first ? m->busbw : fmax(w->most, m->busbw);
	if (m->wrong >= 0)
		w->wrong = (w->wrong < 0 ? 0 : w->wrong) + m->wrong;
	if (isfinite(m->wire)) {
		w->wire += m->wire;
		w->wires++;
	}
	for (size_t i = 0; i < m->ntimes; i++)
		add_time(w, m->times[i]);
	if (!m->ntimes)
		add_time(w, m->p50);
	add_ranks(&w->rank_s, a, m->rank_s, ranks);
	add_ranks(&w->waited, a, m->waited, ranks);
}

enum { BINS = 16, FEW = COURSE_POINTS / BINS / 2 };

static size_t bin_of(const struct course *c, const struct course_point *p)
{
	double from = c->points[0].at_s, took = c->points[c->npoints - 1].at_s - from;
	double at = took > 0 ? (p->at_s - from) / took * BINS : 0;

	return at < BINS ? (size_t)at : BINS - 1;
}

/* Where there are many of a time, every other one goes; of a time that had few rows none. */
static void thin(struct course *c)
{
	size_t in[BINS] = {0}, met[BINS] = {0}, kept = 0;
	uint8_t bins[COURSE_POINTS];

	for (size_t i = 0; i < c->npoints; i++)
		in[bins[i] = (uint8_t)bin_of(c, &c->points[i])]++;
	for (size_t i = 0; i < c->npoints; i++)
		if (in[bins[i]] <= FEW || met[bins[i]]++ % 2 == 0)
			c->points[kept++] = c->points[i];
	c->npoints = kept;
}

static void keep(struct course *c)
{
	if (c->npoints == COURSE_POINTS)
		thin(c);
	c->points[c->npoints++] = c->latest;
}

void course_add(struct course *c, struct arena *a, const struct sweep_row *row, double at_s)
{
	const struct measurement *const halves[] = {&row->out, &row->in};

	for (size_t h = 0; h < ARRAY_LEN(halves); h++)
		add_way(&c->way[h], a, halves[h], (size_t)c->c.ranks, !c->rows);
	c->latest = (struct course_point){
		.at_s = at_s,
		.busbw = {(float)row->out.busbw, (float)row->in.busbw},
		.robbed = (float)fmax(row->out.robbed, row->in.robbed),
	};
	c->least = c->rows ? fmin(c->least, course_busbw(&c->latest)) : course_busbw(&c->latest);
	c->most = fmax(c->most, course_busbw(&c->latest));
	keep(c);
	c->rows++;
}

/* --- and all of them as one --------------------------------------------------------------------
 */

double course_busbw(const struct course_point *p) { return fmax(p->busbw[0], p->busbw[1]); }

static double median_busbw(const struct course *c, size_t way)
{
	double v[COURSE_POINTS];

	for (size_t i = 0; i < c->npoints; i++)
		v[i] = c->points[i].busbw[way];
	return median(v, c->npoints);
}

/* NULL stays NULL: unknown. */
static const double *means(const double *sums, struct arena *a, size_t n, uint64_t rows)
{
	double *v = sums ? arena_alloc(a, n * sizeof(*v)) : NULL;

	for (size_t i = 0; v && i < n; i++)
		v[i] = sums[i] / (double)rows;
	return v;
}

static void whole_way(const struct course *c, size_t way, struct arena *a, struct measurement *m)
{
	const struct course_way *w = &c->way[way];
	double mean = w->sum / w->count, n = (double)c->rows;
	size_t ranks = (size_t)c->c.ranks;

	*m = (struct measurement){
		.seconds = w->seconds / n,
		.shown = w->shown / n,
		.min = w->least_s,
		.max = w->most_s,
		.p50 = percentile(w, 0.5),
		.p99 = percentile(w, 0.99),
		.mean = mean,
		.deviation = sqrt(fmax(0, w->squares / w->count - mean * mean)),
		.wrong = w->wrong,
		.wire = w->wires ? w->wire / (double)w->wires : NAN,
		.rank_s = means(w->rank_s, a, ranks, c->rows),
		.waited = means(w->waited, a, ranks, c->rows),
		.rows = c->rows,
		.least = w->least,
		.median = median_busbw(c, way),
		.most = w->most,
	};
	m->algbw = coll_algbw(&c->c, m->seconds);
	m->busbw = m->algbw * c->c.coll->factor(c->c.ranks);
}

void course_row(const struct course *c, struct arena *a, struct sweep_row *ret)
{
	*ret = (struct sweep_row){.c = &c->c};
	whole_way(c, 0, a, &ret->out);
	whole_way(c, 1, a, &ret->in);
}
