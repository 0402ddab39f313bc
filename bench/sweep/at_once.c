#include "bench/sweep/at_once.h"

#include "bench/sweep/slow.h"

#include <math.h>

const double AT_ONCE_SHARE = 0.8;
/*
 * Who waits for a network sleeps. On a machine of their own, ends wait for a processor by chance,
 * and less than CROWDED of the time. On a common one they wait for each other's processors, and a
 * network goes on meanwhile: there one of the two is always awake where processors are what slows a
 * pair (1.3 and more was seen, of both added up), and both sleep most of the time (0.3 to 1.0)
 * where they are not.
 */
static const double CROWDED = 0.4, AWAKE = 1.15;

struct grouping grouping_all(int n, struct arena *a)
{
	struct grouping g = {n, 1, arena_alloc(a, (size_t)n * sizeof(*g.of))};

	for (int i = 0; i < n; i++)
		g.of[i] = 0;
	return g;
}

static void add(duo_list *to, int x, int y, struct arena *a)
{
	*LIST_ADD(a, to) = (struct duo){.a = x,
					.b = y,
					.alone = NAN,
					.at_once = NAN,
					.unhindered = NAN,
					.busy = NAN,
					.hindered = NAN};
}

void duos_within(const struct grouping *g, bool near, struct arena *a, duo_list *ret)
{
	int *in = arena_alloc(a, (size_t)g->n * sizeof(*in));

	*ret = (duo_list){0};
	for (int k = 0; k < g->groups; k++) {
		int m = 0;

		for (int i = 0; i < g->n; i++)
			if (g->of[i] == k)
				in[m++] = i;
		for (int i = 0; i < m / 2; i++)
			if (near)
				add(ret, in[2 * i], in[2 * i + 1], a);
			else
				add(ret, in[i], in[i + (m + 1) / 2], a);
	}
}

size_t duo_samples(size_t n) { return n < AT_ONCE_SAMPLE ? n : AT_ONCE_SAMPLE; }

size_t duo_sample(size_t n, size_t k)
{
	size_t of = duo_samples(n);

	return of > 1 ? k * (n - 1) / (of - 1) : 0;
}

struct sums {
	double alone, at_once, favoured, all;
	double *each[5]; /* alone, at once, the shares hindered of both, and busy */
	size_t n;
};

static void sum_up(const duo_list *l, struct arena *a, struct sums *ret)
{
	*ret = (struct sums){0};
	for (size_t i = 0; i < ARRAY_LEN(ret->each); i++)
		ret->each[i] = arena_alloc(a, (l->n + 1) * sizeof(**ret->each));
	for (size_t i = 0; i < l->n; i++) {
		const struct duo *d = &l->v[i];
		double favoured = fmax(d->at_once, d->unhindered);

		if (!(d->at_once > 0))
			continue;
		ret->all += d->at_once;
		if (!(d->alone > 0))
			continue;
		ret->alone += d->alone;
		ret->at_once += d->at_once;
		ret->favoured += favoured;
		ret->each[0][ret->n] = d->alone;
		ret->each[1][ret->n] = d->at_once;
		ret->each[2][ret->n] = d->hindered;
		ret->each[3][ret->n] = 1 - d->at_once / favoured;
		ret->each[4][ret->n] = d->busy;
		ret->n++;
	}
}

struct at_once at_once_judge(const duo_list *l, struct arena *a)
{
	struct at_once x = {.is = AT_ONCE_UNKNOWN, .ratio = NAN};
	double middle[5];
	struct sums s;

	sum_up(l, a, &s);
	x.tried = s.n;
	if (!s.n)
		return x;
	for (size_t i = 0; i < ARRAY_LEN(middle); i++)
		middle[i] = slow_median(s.each[i], s.n, a);
	x.ratio = s.at_once / s.alone;
	x.together = s.all;
	x.alone = s.alone / (double)s.n * (double)l->n;
	x.pair_alone = middle[0];
	x.pair_together = middle[1];
	x.waited = middle[3];
	x.busy = middle[4];
	if (x.ratio >= AT_ONCE_SHARE)
		x.is = middle[2] < HINDERED_SHARE ? AT_ONCE_KEPT : AT_ONCE_UNKNOWN;
	else if (isnan(x.busy) ? s.favoured / s.alone < AT_ONCE_SHARE && x.waited < CROWDED
			       : x.busy < AWAKE)
		x.is = AT_ONCE_SLOWER;
	return x;
}
