/* Which cases t_coll tries: that a soak has them all, its shares no more and no less, and
 * that a check meets every value at large sizes; and that kept patterns are the patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coll_cases.h"
#include "tests/unit/dev_tables.h"
#include "tests/unit/in_range.h"
#include "tests/unit/soak.h"

struct survey {
	struct soak share;
	size_t seen, taken;
	size_t kinds[COLL_KINDS]; /* by collective: how many rows */
	bool odd;		  /* a row that there should not be */
};

static bool survey_row(void *arg, const coll_row row)
{
	struct survey *s = arg;
	const struct coll *c = colls[row[P_COLL]];

	s->odd |= (row[P_OP] && !c->reduces) || (row[P_ROOT] && !c->rooted);
	s->kinds[c->kind]++;
	s->taken += soak_takes(&s->share, s->seen++);
	return true;
}

static void a_soak_crosses_everything_up_to_3_MB(void **state)
{
	enum { N = 3, SIZES = 16, ONCE = SIZES * DT_COUNT * 2 /* shift */ };
	struct survey s = {.share = {.parts = 1}};

	(void)state;
	each_row(SMALL, N, survey_row, &s);
	each_row(MEDIUM, N, survey_row, &s);
	assert_false(s.odd);
	assert_int_equal(s.kinds[COLL_ALL_REDUCE], ONCE * 2 * OP_COUNT);
	assert_int_equal(s.kinds[COLL_REDUCE_SCATTER], ONCE * 2 * OP_COUNT);
	assert_int_equal(s.kinds[COLL_REDUCE], ONCE * 2 * OP_COUNT * N);
	assert_int_equal(s.kinds[COLL_BROADCAST], ONCE * 2 * N);
	assert_int_equal(s.kinds[COLL_GATHER], ONCE * 2 * N);
	assert_int_equal(s.kinds[COLL_SCATTER], ONCE * 2 * N);
	assert_int_equal(s.kinds[COLL_ALL_GATHER], ONCE * 2);
	assert_int_equal(s.kinds[COLL_ALLTOALL], ONCE * 2);
	assert_int_equal(s.kinds[COLL_SENDRECV], ONCE * 2);
	assert_int_equal(s.kinds[COLL_ALLTOALLV], ONCE);
}

static void shares_of_a_soak_are_the_whole(void **state)
{
	static const char *const wrong[] = {"",	  "0/8", "9/8", "8",   "1/0",
					    "/8", "2/",	 "x/8", "-1/8"};
	struct survey whole = {.share = {.parts = 1}};
	size_t sum = 0;

	(void)state;
	each_row(MEDIUM, 4, survey_row, &whole);
	assert_int_equal(whole.taken, whole.seen);
	for (int i = 1; i <= 8; i++) {
		struct survey s = {0};
		char text[8];

		(void)snprintf(text, sizeof(text), "%d/8", i);
		assert_int_equal(soak_parse(text, &s.share), 1);
		each_row(MEDIUM, 4, survey_row, &s);
		assert_uint_in_range(s.taken, whole.seen / 8, whole.seen / 8 + 1);
		sum += s.taken;
	}
	assert_int_equal(sum, whole.seen);
	assert_int_equal(soak_parse(NULL, &whole.share), 0);
	assert_int_equal(soak_parse("1", &whole.share), 1);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(soak_parse(wrong[i], &whole.share), -1);
}

/* The few cases of a check at 16 and 64 MB, spread over the worlds. */
static void large_sizes_meet_every_value(void **state)
{
	unsigned met[PARAMETERS] = {0}, from = count_sizes(MEDIUM);

	(void)state;
	for (unsigned size = from; size < ARRAY_LEN(sizes); size++) {
		memset(met, 0, sizeof(met));
		for (int ranks = 1; ranks <= RANKS_MAX; ranks++) {
			struct plan plan = {calloc(ROWS_MAX, sizeof(*plan.rows)), 0};

			add_large(&plan, ranks);
			for (size_t i = 0; i < plan.n; i++)
				for (int p = 0; p < PARAMETERS && plan.rows[i][P_SIZE] == size; p++)
					if (heeds(colls[plan.rows[i][P_COLL]], p))
						met[p] |= 1u << plan.rows[i][p];
			free(plan.rows);
		}
		assert_int_equal(met[P_COLL], (1u << count_colls()) - 1);
		assert_int_equal(met[P_TYPE], DT_ALL);
		assert_int_equal(met[P_OP], (1u << OP_COUNT) - 1);
		assert_int_equal(met[P_PLACE], 3);
		assert_int_equal(met[P_SHIFT], 3);
		assert_true((met[P_ROOT] & 1) && met[P_ROOT] > 1);
	}
}

static void kept_patterns_are_the_patterns(void **state)
{
	enum { N = 3 * PATTERN_PERIOD };
	static char a[N * 8], b[N * 8];
	size_t at[] = {0, 1, PATTERN_PERIOD, N - 5};

	(void)state;
	for (int again = 0; again < 2; again++)
		for (int rank = -1; rank < 4; rank++) {
			struct pattern p = {DT_BFLOAT16, OP_AVG, 4 + again, rank, 2};

			dev_host.fill(&dev_host, a, &p, 77, N);
			dev_tables.fill(&dev_tables, b, &p, 77, N);
			assert_memory_equal(a, b, N * dtype_size(p.type));
			assert_int_equal(dev_tables.wrong(&dev_tables, b, &p, 77, N), 0);
			for (size_t i = 0; i < ARRAY_LEN(at); i++)
				b[at[i] * dtype_size(p.type)] ^= 1;
			assert_int_equal(dev_tables.wrong(&dev_tables, b, &p, 77, N), 4);
		}
	tables_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_soak_crosses_everything_up_to_3_MB),
		cmocka_unit_test(shares_of_a_soak_are_the_whole),
		cmocka_unit_test(large_sizes_meet_every_value),
		cmocka_unit_test(kept_patterns_are_the_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
