/*
 * What rank 0 gets to know of all ranks' parameters: the two ends of each, how far who is
 * from it; and that nothing travels that it has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/random.h"
#include "bench/train/rank.h"
#include "tests/unit/ranks.h"

#include <math.h>

enum { RANKS = 5, PARAMS = 300000, BYTES = PARAMS * sizeof(float) };

struct given { /* by rank: what each has in one place more than rank 0 */
	float more[RANKS];
	int place[RANKS];
	int senders; /* of all its parameters */
};

static uint64_t sent(const struct comm *c)
{
	struct comm_tally t;

	return comm_tally(c, &t) ? t.sent_bytes : 0;
}

/* Does this rank, by what its hash says of it, have to show its own? */
static bool is_shown(const struct given *g, int rank)
{
	for (int i = 0; i < rank; i++)
		if (g->place[i] == g->place[rank] &&
		    !memcmp(&g->more[i], &g->more[rank], sizeof(float)))
			return false;
	return rank > 0;
}

static const char *judge(const struct given *g, const struct train_result *res, const float *own)
{
	for (int i = 0; i < RANKS; i++) {
		double far = isnan(g->more[i]) ? INFINITY : fabs((double)g->more[i]);

		if (res->apart[i] != far)
			return "another distance";
		if (far > 0 &&
		    (g->more[i] < 0 ? res->lowest : res->highest)[g->place[i]] == own[g->place[i]])
			return "not at an end";
	}
	if (res->lowest[PARAMS - 1] != own[PARAMS - 1] ||
	    res->highest[PARAMS - 1] != own[PARAMS - 1])
		return "an end where all are equal";
	return g->senders || res->lowest == res->noted[0] ? NULL : "a copy of what all have";
}

static const char *shown(struct comm *c, struct local *w UNUSED, void *arg)
{
	static float params[PARAMS];
	const struct given *g = arg;
	AUTO(arena_done) struct arena a = {0};
	struct train_result res = {.a = &a, .noted = {params}};
	struct net net = {.params = params, .nparams = PARAMS};
	struct err e = {0};
	struct rank r = {.comm = c, .net = &net, .result = c->rank ? NULL : &res, .e = &e};
	uint64_t before;

	for (size_t i = 0; i < PARAMS; i++)
		params[i] = (float)(i % 1000);
	params[g->place[c->rank]] += g->more[c->rank];
	r.word.before[0] = hash_words(params, PARAMS);
	before = sent(c);
	if (rank_show(&r))
		return "failed";
	if ((sent(c) - before >= BYTES) != is_shown(g, c->rank))
		return "it sent what nobody needs, or did not what somebody does";
	return c->rank ? NULL : judge(g, &res, params);
}

static void on_ranks(struct given g)
{
	for (int i = 0; i < RANKS; i++)
		g.senders += is_shown(&g, i);
	ranks_all_well(&(struct ranks){.fn = shown, .arg = &g}, RANKS);
}

static void equal_parameters_stay_where_they_are(void **state)
{
	(void)state;
	on_ranks((struct given){0});
}

static void others_travel_once(void **state)
{
	(void)state;
	on_ranks((struct given){.more = {0, 0, 8, 8, 0}, .place = {0, 0, 7, 7, 0}});
	on_ranks((struct given){.more = {0, 8, -2, 8, -4}, .place = {0, 7, 7, 7, 9}});
}

static void what_is_no_number_is_far_from_everything(void **state)
{
	(void)state;
	on_ranks((struct given){.more = {0, NAN, 8, -1, 0}, .place = {0, 7, 7, 7, 0}});
}

static void what_is_no_number_stays_the_farthest(void **state)
{
	const float was[] = {1, 2, 3, 4}, is[] = {1, 5, NAN, 40};
	size_t where;

	(void)state;
	assert_true(train_farthest(is, was, 2, &where) == 3 && where == 1);
	assert_true(isinf(train_farthest(is, was, 4, &where)) && where == 2);
	assert_true(isinf(train_farthest(was, is, 4, &where)) && where == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_parameters_stay_where_they_are),
		cmocka_unit_test(others_travel_once),
		cmocka_unit_test(what_is_no_number_stays_the_farthest),
		cmocka_unit_test(what_is_no_number_is_far_from_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
