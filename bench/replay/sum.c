/* What all kinds add up to. Pure. */
#include "bench/replay/replay.h"

#include <math.h>

double replay_kind_s(const struct traffic *t, const struct replay_kind *kinds, size_t kind)
{
	const struct replay_kind *k = &kinds[kind];

	return k->done ? t->kinds.v[kind].times * k->us / 1e6 : 0;
}

/* Of each rank; by the clock now, and where nothing was done by what moves. */
static int find_busiest(const struct traffic *t, const struct replay_kind *kinds, struct arena *a)
{
	double *s = arena_alloc(a, ((size_t)t->ranks + 1) * sizeof(*s));
	int most = 0;

	for (size_t i = 0; i < t->kinds.n; i++)
		for (size_t g = 0; g < t->kinds.v[i].groups.n; g++) {
			const struct traffic_group *x = &t->groups.v[t->kinds.v[i].groups.v[g]];

			for (uint32_t k = 0; k < x->n; k++)
				s[x->ranks[k]] += replay_kind_s(t, kinds, i);
		}
	for (int i = 0; i < t->ranks; i++)
		most = s[i] > s[most] ? i : most;
	return most;
}

/* @of_group: the same as then_s, of one group. */
static void add(const struct traffic *t, const struct replay_kind *kinds, size_t i,
		double *of_group, struct replay_sum *sum)
{
	const struct traffic_kind *k = &t->kinds.v[i];
	double s = replay_kind_s(t, kinds, i);

	sum->calls += k->times;
	sum->bytes += k->times * traffic_bytes(t, k);
	sum->now_s += s;
	sum->cut += kinds[i].done ? 0 : k->times;
	sum->is_reckoned |= kinds[i].done && kinds[i].scale > 1;
	if (!kinds[i].done || isnan(k->then_us))
		return;
	sum->timed_s += s;
	sum->then_s += k->times * k->then_us / 1e6;
	sum->waited_s += k->times * k->waited_us / 1e6;
	*of_group += k->times * k->then_us / 1e6;
	sum->longest_s = fmax(sum->longest_s, *of_group);
}

void replay_add_up(const struct traffic *t, const struct replay_kind *kinds, struct arena *a,
		   struct replay_sum *ret)
{
	double *then_s = arena_alloc(a, (t->groups.n + 1) * sizeof(*then_s));

	*ret = (struct replay_sum){.rank = find_busiest(t, kinds, a)};
	for (size_t i = 0; i < t->kinds.n; i++)
		for (size_t g = 0; g < t->kinds.v[i].groups.n; g++) {
			uint32_t group = t->kinds.v[i].groups.v[g];

			if (traffic_has(&t->groups.v[group], ret->rank))
				add(t, kinds, i, &then_s[group], ret);
		}
}

const char *replay_what(const struct traffic *t) { return t->steps ? "a step" : "the recording"; }
