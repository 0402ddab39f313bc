/* Pairs alone and all at once, over made-up networks: who meets whom, what is shared, and by whom.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/at_once.h"

#include <math.h>

enum { MOST = 64 };

struct net { /* hosts on leaves; each leaf's uplink is as fast as so many hosts */
	int n, leaf[MOST];
	double uplink, rate[MOST];
	double core; /* all have so much, whoever meets whom; 0: no limit */
};

static bool crosses(const struct net *w, const struct duo *d)
{
	return w->leaf[d->a] != w->leaf[d->b];
}

static double alone(const struct net *w, const struct duo *d)
{
	double least = fmin(w->rate[d->a], w->rate[d->b]);

	return crosses(w, d) ? fmin(least, w->uplink) : least;
}

/* What crosses shares the fuller of two uplinks. */
static double at_once(const struct net *w, const duo_list *l, const struct duo *d)
{
	double most = 0, all = 0;

	for (size_t i = 0; i < l->n; i++)
		all += alone(w, &l->v[i]);
	if (w->core > 0 && all > w->core)
		return alone(w, d) * w->core / all;
	for (int end = 0; end < 2 && crosses(w, d); end++) {
		double on = 0;

		for (size_t i = 0; i < l->n; i++) {
			const struct duo *x = &l->v[i];
			int leaf = w->leaf[end ? d->b : d->a];

			if (crosses(w, x) && (w->leaf[x->a] == leaf || w->leaf[x->b] == leaf))
				on += alone(w, x);
		}
		most = fmax(most, on);
	}
	return most > w->uplink ? alone(w, d) * w->uplink / most : alone(w, d);
}

static void run(const struct net *w, duo_list *l, bool with_alone)
{
	for (size_t i = 0; i < l->n; i++)
		l->v[i].at_once = l->v[i].unhindered = at_once(w, l, &l->v[i]);
	for (size_t k = 0; with_alone && k < duo_samples(l->n); k++) {
		struct duo *d = &l->v[duo_sample(l->n, k)];

		d->alone = alone(w, d);
		d->hindered = 0;
	}
}

static void net(struct net *w, int n, int leaves, double uplink)
{
	*w = (struct net){.n = n, .uplink = uplink};
	for (int i = 0; i < n; i++) {
		w->leaf[i] = i * leaves / n;
		w->rate[i] = 10;
	}
}

/* --- who meets whom ------------------------------------------------------------------------ */

static void everybody_is_in_one_pair(void **state)
{
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (int n = 2; n < 20; n++)
		for (int near = 0; near < 2; near++) {
			const struct grouping all = grouping_all(n, &a);
			int seen[20] = {0};
			duo_list l;

			duos_within(&all, near, &a, &l);
			assert_int_equal(l.n, n / 2);
			for (size_t i = 0; i < l.n; i++) {
				assert_int_equal(l.v[i].b - l.v[i].a, near ? 1 : (n + 1) / 2);
				assert_true(!seen[l.v[i].a]++ && !seen[l.v[i].b]++);
			}
		}
}

static void pairs_stay_in_their_group(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct grouping g = {7, 2, (int[]){0, 1, 0, 1, 0, 1, 0}};
	duo_list l;

	(void)state;
	duos_within(&g, false, &a, &l);
	assert_int_equal(l.n, 3); /* 0 2 4 6 and 1 3 5 */
	assert_true(l.v[0].a == 0 && l.v[0].b == 4 && l.v[1].a == 2 && l.v[1].b == 6);
	assert_true(l.v[2].a == 1 && l.v[2].b == 5);
	assert_true(isnan(l.v[0].alone) && isnan(l.v[0].at_once));
}

static void a_sample_is_spread(void **state)
{
	(void)state;
	assert_int_equal(duo_samples(2), 2);
	assert_int_equal(duo_samples(100), AT_ONCE_SAMPLE);
	for (size_t n = 2; n < 40; n++) {
		assert_int_equal(duo_sample(n, 0), 0);
		assert_int_equal(duo_sample(n, duo_samples(n) - 1), n - 1);
		for (size_t k = 1; k < duo_samples(n); k++)
			assert_true(duo_sample(n, k) > duo_sample(n, k - 1));
	}
}

static void groupings_are_whole_few_and_no_two_alike(void **state)
{
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (int n = AT_ONCE_HOSTS; n <= MOST; n++) {
		grouping_list l;

		groupings_of(n, &a, &l);
		assert_true(l.n >= 2);
		for (size_t i = 0; i < l.n; i++) {
			int size[MOST] = {0};

			assert_int_equal(l.v[i].n, n);
			for (int k = 0; k < n; k++)
				size[l.v[i].of[k]]++;
			for (int k = 0; k < l.v[i].groups; k++)
				assert_true(size[k] > 1); /* else no pair tells of it */
			for (size_t j = 0; j < i; j++)
				assert_true(memcmp(l.v[i].of, l.v[j].of, (size_t)n * sizeof(int)));
		}
	}
}

/* --- is something shared --------------------------------------------------------------------- */

static struct at_once judged(const struct net *w, bool near, struct arena *a)
{
	const struct grouping all = grouping_all(w->n, a);
	duo_list l;

	duos_within(&all, near, a, &l);
	run(w, &l, true);
	return at_once_judge(&l, a);
}

static void a_full_uplink_shows(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct at_once x;
	struct net w;

	(void)state;
	net(&w, 8, 2, 20); /* four hosts, room for two */
	x = judged(&w, false, &a);
	assert_int_equal(x.is, AT_ONCE_SLOWER);
	assert_true(fabs(x.ratio - 0.5) < 1e-9 && fabs(x.alone - 40) < 1e-9);
	assert_true(fabs(x.together - 20) < 1e-9 && fabs(x.pair_together - 5) < 1e-9);
	assert_int_equal(judged(&w, true, &a).is, AT_ONCE_KEPT); /* nobody crosses */
	net(&w, 8, 2, 40);
	assert_int_equal(judged(&w, false, &a).is, AT_ONCE_KEPT);
	net(&w, 8, 2, 34); /* 85 % */
	assert_int_equal(judged(&w, false, &a).is, AT_ONCE_KEPT);
	net(&w, 64, 4, 40); /* of 32 pairs four are tried alone */
	x = judged(&w, false, &a);
	assert_int_equal(x.tried, AT_ONCE_SAMPLE);
	assert_true(x.is == AT_ONCE_SLOWER && fabs(x.alone - 320) < 1e-9 && x.ratio < 0.26);
}

/* One slow host is no shared network, alone or beside others. */
static void a_slow_host_is_not_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct net w;

	(void)state;
	net(&w, 8, 2, 40);
	w.rate[3] = 1;
	assert_int_equal(judged(&w, false, &a).is, AT_ONCE_KEPT);
	assert_int_equal(judged(&w, true, &a).is, AT_ONCE_KEPT);
}

static struct at_once two(struct duo x, struct duo y, struct arena *a)
{
	duo_list l = {0};

	*LIST_ADD(a, &l) = x;
	*LIST_ADD(a, &l) = y;
	return at_once_judge(&l, a);
}

static void processors_are_no_network(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct duo slow = {.alone = 10, .at_once = 4, .unhindered = 4.4, .busy = NAN};
	struct duo robbed = {.alone = 10, .at_once = 4, .unhindered = 9, .busy = NAN};
	const struct duo starved = {.alone = 10, .at_once = 2, .unhindered = 7, .busy = NAN};
	const struct duo crowd = {.alone = 10, .at_once = 2, .unhindered = 4, .busy = NAN};
	const struct duo busy = {.alone = 5, .at_once = 5, .unhindered = 5, .hindered = 0.9};
	const struct duo lost = {.alone = NAN, .at_once = 4, .unhindered = 4};

	(void)state;
	assert_int_equal(two(slow, slow, &a).is, AT_ONCE_SLOWER);
	assert_int_equal(two(robbed, robbed, &a).is, AT_ONCE_UNKNOWN);
	assert_int_equal(two(starved, starved, &a).is, AT_ONCE_UNKNOWN);
	assert_int_equal(two(crowd, crowd, &a).is, AT_ONCE_UNKNOWN);
	assert_int_equal(two(busy, busy, &a).is, AT_ONCE_UNKNOWN);
	/* on one machine */
	slow.busy = robbed.busy = 0.6;
	assert_int_equal(two(slow, slow, &a).is, AT_ONCE_SLOWER);
	assert_int_equal(two(robbed, robbed, &a).is, AT_ONCE_SLOWER);
	slow.busy = robbed.busy = 1.3;
	assert_int_equal(two(slow, slow, &a).is, AT_ONCE_UNKNOWN);
	assert_int_equal(two(robbed, robbed, &a).is, AT_ONCE_UNKNOWN);
	assert_int_equal(two(lost, lost, &a).is, AT_ONCE_UNKNOWN);
	assert_int_equal(at_once_judge(&(duo_list){0}, &a).is, AT_ONCE_UNKNOWN);
}

/* --- by whom ------------------------------------------------------------------------------- */

static int try_at_once(void *arg, duo_list *l, struct err *e)
{
	(void)e;
	run(arg, l, false);
	return 0;
}

static const struct grouping *found(struct net *w, struct arena *a, int *ret_trials)
{
	const struct grouping all = grouping_all(w->n, a);
	const struct at_once_way way = {try_at_once, w, a};
	struct at_once_groups groups;
	struct at_once_seen seen;
	struct err e = {0};
	duo_list l[2];

	for (int near = 0; near < 2; near++) {
		duos_within(&all, near, a, &l[near]);
		run(w, &l[near], true);
	}
	seen_begin(&seen, w->n, l, 2, a);
	assert_int_equal(at_once_find(&seen, &way, &groups, &e), 0);
	*ret_trials = groups.trials;
	assert_true(!groups.g || groups.share > 0.9);
	return groups.g;
}

static bool is_of_leaves(const struct net *w, const struct grouping *g)
{
	for (int i = 0; g && i < w->n; i++)
		for (int k = 0; k < i; k++)
			if ((w->leaf[i] == w->leaf[k]) != (g->of[i] == g->of[k]))
				return false;
	return g;
}

static void groups_are_the_leaves(void **state)
{
	static const struct {
		int n, leaves;
		double uplink;
	} nets[] = {{4, 2, 10},	 {8, 2, 20},  {8, 2, 30},   {8, 4, 10},	  {12, 3, 10}, {16, 2, 20},
		    {16, 4, 20}, {16, 4, 10}, {32, 2, 100}, {64, 2, 160}, {64, 4, 80}, {64, 8, 20}};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(nets); i++) {
		struct net w;
		int trials;

		net(&w, nets[i].n, nets[i].leaves, nets[i].uplink);
		if (!is_of_leaves(&w, found(&w, &a, &trials)))
			fail_msg("%d hosts, %d leaves: not found", nets[i].n, nets[i].leaves);
	}
}

static void groups_of_any_size_and_order(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct net w;
	int trials;

	(void)state;
	net(&w, 8, 2, 10);
	for (int cut = 3; cut < 6; cut++) {
		for (int i = 0; i < w.n; i++)
			w.leaf[i] = i >= cut;
		assert_true(is_of_leaves(&w, found(&w, &a, &trials)));
		assert_true(trials <= 4); /* what was seen leaves few to be tried */
	}
	for (int i = 0; i < w.n; i++)
		w.leaf[i] = i % 2;
	assert_true(is_of_leaves(&w, found(&w, &a, &trials)));
	net(&w, 5, 2, 10);
	for (int i = 0; i < w.n; i++)
		w.leaf[i] = i > 2;
	assert_true(is_of_leaves(&w, found(&w, &a, &trials)));
}

/* A switch that is too small for all: whoever meets whom. And an order that nobody guesses. */
static void what_is_not_known_is_not_said(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	static const int odd[] = {0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1};
	struct net w;
	int trials;

	(void)state;
	net(&w, 8, 1, 10);
	w.core = 15;
	assert_int_equal(judged(&w, false, &a).is, AT_ONCE_SLOWER);
	assert_int_equal(judged(&w, true, &a).is, AT_ONCE_SLOWER);
	assert_null(found(&w, &a, &trials));
	net(&w, 12, 2, 15);
	memcpy(w.leaf, odd, sizeof(odd));
	assert_null(found(&w, &a, &trials));
	assert_true(trials <= AT_ONCE_TRIALS);
}

static void one_slow_pair_of_many_is_not_kept(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct grouping all = grouping_all(40, &a);
	struct at_once_seen seen;
	struct net w;
	duo_list l;
	double share;

	(void)state;
	net(&w, 40, 1, 0);
	duos_within(&all, false, &a, &l);
	run(&w, &l, true);
	seen_begin(&seen, 40, &l, 1, &a);
	assert_true(seen_keep(&seen, &l, &share) && share > 0.99);
	l.v[7].at_once = l.v[7].unhindered = 5;
	assert_true(!seen_keep(&seen, &l, &share) && share > 0.9);
}

/* Whose list has the number of a pair's other end right behind it is slow; who is far away is not.
 */
static int slow_if_near(void *arg, duo_list *l, struct err *e)
{
	(void)arg;
	(void)e;
	for (size_t i = 0; i < l->n; i++)
		l->v[i].at_once = l->v[i].unhindered = l->v[i].b - l->v[i].a < 2 ? 4 : 10;
	return 0;
}

static void groups_are_tried_in_two_ways(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const struct at_once_way way = {slow_if_near, NULL, &a};
	struct at_once_groups found;
	struct at_once_seen seen;
	struct err e = {0};

	(void)state;
	seen_begin(&seen, 8, NULL, 0, &a);
	seen.usual = 10;
	assert_int_equal(at_once_find(&seen, &way, &found, &e), 0);
	for (int i = 1; found.g && i < 8; i++) /* no neighbours, though far ones of them kept all */
		assert_int_not_equal(found.g->of[i], found.g->of[i - 1]);
	assert_true(found.trials > 1);
}

static void slow_hosts_do_not_hide_groups(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct net w;
	int trials;

	(void)state;
	net(&w, 8, 2, 15);
	w.rate[2] = 5;
	assert_true(is_of_leaves(&w, found(&w, &a, &trials)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_is_in_one_pair),
		cmocka_unit_test(pairs_stay_in_their_group),
		cmocka_unit_test(a_sample_is_spread),
		cmocka_unit_test(groupings_are_whole_few_and_no_two_alike),
		cmocka_unit_test(a_full_uplink_shows),
		cmocka_unit_test(a_slow_host_is_not_it),
		cmocka_unit_test(processors_are_no_network),
		cmocka_unit_test(groups_are_the_leaves),
		cmocka_unit_test(groups_of_any_size_and_order),
		cmocka_unit_test(what_is_not_known_is_not_said),
		cmocka_unit_test(one_slow_pair_of_many_is_not_kept),
		cmocka_unit_test(groups_are_tried_in_two_ways),
		cmocka_unit_test(slow_hosts_do_not_hide_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
