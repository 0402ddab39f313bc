#include "bench/sweep/groups_judge.h"

#include "lib/core/stats.h"

#include <math.h>

const double GROUP_SHARE = 0.5;
enum { SIZES = 64, LARGE = 4 /* powers of two below the largest */ };

/* --- what was measured ----------------------------------------------------------------------- */

void groups_book_init(struct groups_book *b, const struct groups *g, const struct coll *coll,
		      struct arena *a)
{
	*b = (struct groups_book){.g = g, .coll = coll};
	b->best = arena_alloc(a, (size_t)g->n * sizeof(*b->best));
	for (int i = 0; i < g->n; i++)
		for (int k = 0; k < SIZES; k++)
			b->best[i][k] = NAN;
}

static int power_of(uint64_t bytes) { return bytes ? 63 - __builtin_clzll(bytes) : 0; }

double groups_busbw(const struct groups *g, int i, const struct coll_case *c, double seconds)
{
	struct coll_case own = *c;

	own.ranks = g->v[i].n;
	if (own.ranks != c->ranks)
		own.sizes = coll_sizes(c->coll, coll_bytes(c), c->type, own.ranks);
	return coll_algbw(&own, seconds) * c->coll->factor(own.ranks);
}

/* The mean of its ranks. */
static double seconds_of(const struct group *g, const double *rank_s)
{
	double sum = 0;

	for (int i = 0; i < g->n; i++)
		sum += rank_s[g->ranks[i]];
	return sum / g->n;
}

/* One rank carries nothing, however fast. */
static void add_way(struct groups_book *b, const struct coll_case *c, const struct measurement *m)
{
	int power = power_of(coll_bytes(c));

	for (int i = 0; m->rank_s && i < b->g->n; i++) {
		double s = seconds_of(&b->g->v[i], m->rank_s), *best = &b->best[i][power];

		if (s > 0 && b->g->v[i].n > 1)
			*best = fmax(*best, groups_busbw(b->g, i, c, s));
	}
}

void groups_book_add(struct groups_book *b, const struct sweep_row *row)
{
	uint64_t bytes = coll_bytes(row->c);

	b->largest = bytes > b->largest ? bytes : b->largest;
	add_way(b, row->c, &row->out);
	add_way(b, row->c, &row->in);
}

double groups_book_best(const struct groups_book *b, int i)
{
	int last = power_of(b->largest), first = last > LARGE ? last - LARGE : 0;
	double most = NAN;

	for (int k = first; k <= last; k++)
		most = fmax(most, b->best[i][k]);
	return most;
}

/* --- who is slow ----------------------------------------------------------------------------- */

struct shape { /* of a group */
	size_t ranks, hosts, most;
};

static int by_number(const void *x, const void *y)
{
	size_t a = *(const size_t *)x, b = *(const size_t *)y;

	return (a > b) - (a < b);
}

static struct shape shape_of(const struct group *g, const struct hosts *spread, size_t *room)
{
	struct shape s = {.ranks = (size_t)g->n};
	size_t same = 0;

	for (int i = 0; i < g->n; i++)
		room[i] = spread->of[g->ranks[i]];
	qsort(room, s.ranks, sizeof(*room), by_number);
	for (size_t i = 0; i < s.ranks; i++) {
		same = i && room[i] == room[i - 1] ? same + 1 : 1;
		s.hosts += same == 1;
		s.most = same > s.most ? same : s.most;
	}
	return s;
}

static bool is_like(const struct shape *x, const struct shape *y)
{
	return x->ranks == y->ranks && x->hosts == y->hosts && x->most == y->most;
}

bool groups_share_hosts(const struct groups *g, const struct hosts *spread, struct arena *a)
{
	int *whose = arena_alloc(a, (spread->n + 1) * sizeof(*whose));

	for (size_t h = 0; h < spread->n; h++)
		whose[h] = -1;
	for (int i = 0; i < g->size; i++) {
		int *of = &whose[spread->of[i]];

		if (g->of[i] < 0)
			continue;
		if (*of >= 0 && *of != g->of[i])
			return true;
		*of = g->of[i];
	}
	return false;
}

bool groups_are_alike(const struct groups *g, const struct hosts *spread, struct arena *a,
		      size_t *ret_hosts)
{
	size_t *room = arena_alloc(a, ((size_t)g->size + 1) * sizeof(*room));
	struct shape first = shape_of(&g->v[0], spread, room);

	*ret_hosts = first.hosts;
	for (int i = 1; i < g->n; i++) {
		struct shape s = shape_of(&g->v[i], spread, room);

		if (!is_like(&s, &first))
			return false;
	}
	return g->members == g->size && first.ranks == first.hosts * first.most;
}

static double gbps_of(const struct groups_input *in, int i)
{
	return fmax(in->gbps[i], in->tried[i].again);
}

static enum group_is judge_low(const struct groups_tried *t)
{
	if (!isnan(t->alone) && !isnan(t->beside))
		return t->alone < GROUP_SHARE * t->beside ? GROUP_SLOW : GROUP_DISTURBED;
	return isnan(t->again) ? GROUP_UNJUDGED : GROUP_SLOW;
}

/* @first and all that are like it. */
static void judge_alike(const struct groups_input *in, const struct shape *shapes, int first,
			double *room, bool *done, struct group_verdict *ret)
{
	int n = 0, best = first;
	double usual;

	for (int i = first; i < in->g->n; i++) {
		if (!is_like(&shapes[i], &shapes[first]) || isnan(in->gbps[i]))
			continue;
		best = gbps_of(in, i) > gbps_of(in, best) ? i : best;
		room[n++] = gbps_of(in, i);
	}
	usual = median(room, (size_t)n); /* of two the better one */
	for (int i = first; i < in->g->n; i++) {
		if (!is_like(&shapes[i], &shapes[first]))
			continue;
		done[i] = true;
		ret[i] = (struct group_verdict){.usual = usual, .like = n, .best = best};
		if (n < 2 || isnan(in->gbps[i]) || !(usual > 0))
			continue;
		ret[i].low = fmax(gbps_of(in, i), in->tried[i].favour) < GROUP_SHARE * usual;
		ret[i].is = ret[i].low ? judge_low(&in->tried[i]) : GROUP_WELL;
	}
}

const char *groups_judge(const struct groups_input *in, struct arena *a, struct group_verdict *ret)
{
	size_t n = (size_t)in->g->n;
	struct shape *shapes = arena_alloc(a, (n + 1) * sizeof(*shapes));
	size_t *room = arena_alloc(a, ((size_t)in->g->size + 1) * sizeof(*room));
	double *values = arena_alloc(a, (n + 1) * sizeof(*values));
	bool *done = arena_alloc(a, (n + 1) * sizeof(*done)), any = false;

	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct group_verdict){.usual = NAN, .best = -1};
		shapes[i] = shape_of(&in->g->v[i], in->spread, room);
		done[i] = false;
	}
	if (in->g->n == in->g->members)
		return "a group of one rank carries nothing";
	if (n < 2)
		return "there is one group";
	if (in->bytes < GROUPS_JUDGED_FROM)
		return "sizes below 1 MiB say little about bandwidth";
	if (in->shared_gpu)
		return COMM_SHARED_GPU;
	if (in->host_memory && groups_share_hosts(in->g, in->spread, a))
		return "groups share hosts, and between them it is who gets a processor";
	for (int i = 0; i < in->g->n; i++)
		if (!done[i])
			judge_alike(in, shapes, i, values, done, ret);
	for (size_t i = 0; i < n; i++)
		any |= ret[i].like > 1 && ret[i].usual > 0;
	return any ? NULL : "no two groups are alike: as many ranks, spread over as many hosts";
}
