/* What ranks conclude from each other's cards: alike where they plan, each for itself where it
 * spins. Machines are made up by what the cards say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/comm/tcp_cards.h"
#include "tests/unit/ranks.h"

/* Of each rank. */
struct place {
	const char *machine;
	unsigned first, processors;
	unsigned allowed; /* 0: as many */
	uint64_t budget;
};
static const struct place *places;

static int exchange(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	const struct local *w = arg;
	struct tcp_card *own = (struct tcp_card *)mine;

	if (n == sizeof(*own)) {
		(void)snprintf(own->place.machine, sizeof(own->place.machine), "%s",
			       places[w->rank].machine);
		own->first_processor = places[w->rank].first;
		own->processors = places[w->rank].processors;
		own->allowed = places[w->rank].allowed ?: own->processors;
		own->budget = places[w->rank].budget;
	}
	return local_exchange(arg, mine, n, all, e);
}

/* --- who shares processors ---------------------------------------------------------------- */

struct verdict {
	bool crowded[4], few_messages;
};

static const char *compare(struct comm *c, struct local *w, void *arg)
{
	const struct verdict *want = arg;
	const struct tcp *t = (const struct tcp *)c; /* begins with it */

	if (t->crowded != want->crowded[w->rank])
		return t->crowded ? "crowded" : "not crowded";
	return t->few_messages == want->few_messages ? NULL : "plans for others";
}

static void conclude(const struct place *of, int n, struct verdict want)
{
	struct ranks r = {.fn = compare, .arg = &want, .exchange = exchange};

	places = of;
	assert_null(ranks_run(&r, n));
	for (int i = 1; i < n; i++)
		assert_int_equal(r.ended[i], 0);
}

static void ranks_of_one_mask_share_it(void **state)
{
	static const struct place enough[] = {{"a", 0, 2, 0, 0}, {"a", 0, 2, 0, 0}};
	static const struct place few[] = {{"a", 0, 2, 0, 0}, {"a", 0, 2, 0, 0}, {"a", 0, 2, 0, 0}};

	(void)state;
	conclude(enough, 2, (struct verdict){{false, false}, false});
	conclude(few, 3, (struct verdict){{true, true, true}, true});
}

/* As srun binds them. */
static void ranks_with_their_own_processors_are_not_crowded(void **state)
{
	static const struct place bound[] = {
		{"a", 0, 1, 0, 0}, {"a", 1, 1, 0, 0}, {"a", 2, 2, 0, 0}, {"a", 2, 2, 0, 0}};

	(void)state;
	conclude(bound, 4, (struct verdict){{false, false, false, false}, false});
}

/* Containers see all processors of the machine, and have the time of some. */
static void pods_with_their_own_quotas_are_not_crowded(void **state)
{
	static const struct place pods[] = {
		{"a", 0, 1, 8, 11}, {"a", 0, 1, 8, 12}, {"a", 0, 2, 8, 13}, {"a", 0, 2, 8, 13}};
	static const struct place one_pod[] = {
		{"a", 0, 2, 8, 11}, {"a", 0, 2, 8, 11}, {"a", 0, 2, 8, 11}};
	/* one of two has too many, though together they would have enough */
	static const struct place uneven[] = {
		{"a", 0, 1, 8, 11}, {"a", 0, 1, 8, 11}, {"a", 0, 6, 8, 12}};
	/* more was promised than there is */
	static const struct place promised[] = {
		{"a", 0, 1, 2, 11}, {"a", 0, 1, 2, 12}, {"a", 0, 1, 2, 13}};
	/* one without a quota, and the same numbers elsewhere */
	static const struct place mixed[] = {
		{"a", 0, 1, 2, 11}, {"a", 0, 2, 2, 0}, {"b", 0, 1, 2, 11}, {"b", 0, 1, 2, 12}};

	(void)state;
	conclude(pods, 4, (struct verdict){{false, false, false, false}, false});
	conclude(one_pod, 3, (struct verdict){{true, true, true}, true});
	conclude(uneven, 3, (struct verdict){{true, true, false}, true});
	conclude(promised, 3, (struct verdict){{true, true, true}, true});
	conclude(mixed, 4, (struct verdict){{false, false, false, false}, false});
}

static void a_crowd_elsewhere_is_planned_for(void **state)
{
	static const struct place unequal[] = {
		{"a", 0, 1, 0, 0}, {"a", 0, 1, 0, 0}, {"b", 0, 64, 0, 0}};

	(void)state;
	conclude(unequal, 3, (struct verdict){{true, true, false}, true});
}

/* --- and so they understand each other ------------------------------------------------------ */

enum { MOST = 1 << 18 };

static const char *run_all(struct comm *c, struct local *w, void *arg)
{
	static const enum coll_kind kinds[] = {COLL_ALL_REDUCE, COLL_REDUCE, COLL_BROADCAST};
	static float from[MOST], into[MOST];
	struct comm_request q = {.send = from, .recv = into, .type = DT_FLOAT};
	struct err e = {0};

	(void)arg;
	for (size_t i = 0; i < MOST; i++)
		from[i] = (float)w->rank + 1;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (q.count = 1; q.count <= MOST; q.count *= 4) {
			bool is_sum = (q.kind = kinds[k]) != COLL_BROADCAST;
			float want = is_sum ? (float)(w->size * (w->size + 1)) / 2 : 1;

			if (comm_run(c, &q, &e))
				return "they wait for each other";
			if ((q.kind != COLL_REDUCE || !w->rank) &&
			    (into[0] != want || into[q.count - 1] != want))
				return "wrong data";
		}
	return NULL;
}

static void unequal_machines_work_together(void **state)
{
	static const struct place of[] = {{"a", 0, 1, 0, 0},  {"a", 0, 1, 0, 0},
					  {"b", 0, 64, 0, 0}, {"c", 0, 2, 0, 0},
					  {"b", 0, 64, 0, 0}, {"b", 0, 64, 0, 0}};
	struct ranks r = {.fn = run_all,
			  .exchange = exchange,
			  .deadline_ns = 5 * local_slowness() * NS_PER_S};

	(void)state;
	places = of;
	for (int n = 3; n <= (int)ARRAY_LEN(of); n++) {
		assert_null(ranks_run(&r, n));
		for (int i = 1; i < n; i++)
			assert_int_equal(r.ended[i], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_one_mask_share_it),
		cmocka_unit_test(ranks_with_their_own_processors_are_not_crowded),
		cmocka_unit_test(pods_with_their_own_quotas_are_not_crowded),
		cmocka_unit_test(a_crowd_elsewhere_is_planned_for),
		cmocka_unit_test(unequal_machines_work_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
