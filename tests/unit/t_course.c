/* A burn-in's course: hours of rows in memory that does not grow, and whether bandwidth sank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "bench/sweep/drift.h"

enum { BYTES = 1 << 20, RANKS = 2 };

static const struct coll_case *usual(void)
{
	static struct coll_case c = {.ranks = RANKS, .type = DT_FLOAT};

	c.coll = coll_find("all_reduce");
	c.sizes = coll_sizes(c.coll, BYTES, DT_FLOAT, RANKS);
	return &c;
}

static struct course *new_course(struct arena *a)
{
	struct course *c = ARENA_NEW(a, struct course);

	course_init(c, usual());
	return c;
}

static void add(struct course *c, struct arena *a, double at_s, double busbw, double robbed)
{
	const double seconds = BYTES / busbw / 1e9, times[] = {seconds, seconds * 1.01};
	const double by_rank[RANKS] = {seconds, seconds / 2};
	const struct measurement m = {.seconds = seconds,
				      .busbw = busbw,
				      .wrong = -1,
				      .min = times[0],
				      .max = times[1],
				      .times = times,
				      .ntimes = 2,
				      .rank_s = by_rank,
				      .wire = NAN,
				      .robbed = robbed};
	const struct sweep_row row = {.c = usual(), .out = m, .in = m};

	course_add(c, a, &row, at_s);
}

/* The same numbers each time: a test that fails once in a while says nothing. */
static uint64_t dice_state;
static double dice(void) /* -1 to 1 */
{
	dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
	return (double)(dice_state >> 33) / (double)(1u << 30) - 1;
}

static size_t memory(const struct arena *a)
{
	size_t n = 0;

	for (const void *const *b = (const void *const *)a->top; b; b = *b)
		n++;
	return n;
}

static void a_million_rows_take_no_more_than_a_thousand(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct course *c = new_course(&a);
	size_t blocks = 0;

	(void)state;
	for (size_t i = 0; i < 1000000; i++) {
		add(c, &a, (double)i, 1, 0);
		if (i == 1000)
			blocks = memory(&a);
	}
	assert_int_equal(memory(&a), blocks);
	assert_true(c->npoints >= COURSE_POINTS / 2 && c->npoints <= COURSE_POINTS);
	/* those that are left are spread over the whole time, in order */
	assert_true(c->points[0].at_s == 0);
	assert_true(c->points[c->npoints - 1].at_s > 990000);
	for (size_t i = 1; i < c->npoints; i++)
		assert_true(c->points[i].at_s > c->points[i - 1].at_s &&
			    c->points[i].at_s - c->points[i - 1].at_s < 1000000 / 16);
}

/* Quick for hours, and then so slow that only a dozen rows came: each of them counts. */
static void of_a_slow_end_no_row_is_lost(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct course *c = new_course(&a);
	struct drift d;

	(void)state;
	for (size_t i = 0; i < 1450; i++)
		add(c, &a, 10 + (double)i * 0.5, 4, 0);
	for (size_t i = 0; i < 13; i++)
		add(c, &a, 756 + (double)i * 15, 0.15, 0);
	drift_find(c, 0.1, &d);
	assert_int_equal(d.kind, DRIFT_SUNK);
}

static void one_row_of_them_all(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct course *c = new_course(&a);
	struct sweep_row row;
	double us = BYTES / 1e9 / 4 * 1e6;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		add(c, &a, (double)i, i < 10 ? 1 : i < 99 ? 4 : 2, 0);
	course_row(c, &a, &row);
	assert_int_equal(row.out.rows, 100);
	assert_true(row.out.least == 1 && row.in.most == 4 && row.out.median == 4);
	assert_true(c->least == 1 && c->most == 4);
	assert_true(fabs(row.out.p50 * 1e6 / us - 1) < 0.02);
	assert_true(fabs(row.out.p99 * 1e6 / us / 4 - 1) < 0.02);
	assert_true(fabs(row.out.min * 1e6 / us - 1) < 1e-9);
	assert_true(fabs(row.out.max * 1e6 / us / 4.04 - 1) < 1e-9);
	/* the mean time: 10 of four times, 89 of once, one of twice */
	assert_true(fabs(row.out.seconds * 1e6 / us - 1.31) < 1e-9);
	assert_true(fabs(row.out.busbw - 4 / 1.31 * BYTES / (1 << 20)) < 1e-9);
	assert_true(row.out.wrong == -1 && isnan(row.out.wire));
	assert_true(fabs(row.out.rank_s[1] - row.out.seconds / 2) < 1e-12);
	assert_null(row.out.waited);
}

/* How @n rows went, each of @at(share of the time). */
static struct drift drift_of(size_t n, double (*busbw)(double at), double (*robbed)(double at))
{
	AUTO(arena_done) struct arena a = {0};
	struct course *c = new_course(&a);
	struct drift d;

	for (size_t i = 0; i < n; i++) {
		double at = (double)i / (double)(n - 1);

		add(c, &a, at * 1000, busbw(at), robbed ? robbed(at) : 0);
	}
	drift_find(c, 0.1, &d);
	return d;
}

static double steady(double at UNUSED) { return 10; }
static double noisy(double at UNUSED) { return 10 * (1 + 0.3 * dice()); }
static double with_dips(double at UNUSED) { return dice() > 0.8 ? 1 : 10 + dice(); }
static double ends_badly(double at) { return at > 0.95 ? 2 : 10 + dice(); }
static double was_bad(double at) { return at > 0.3 && at < 0.7 ? 2 : 10 + dice() / 2; }
static double sinks(double at) { return 10 - 3 * at + dice() / 10; }
static double falls(double at) { return at > 0.5 ? 5 + dice() : 10 + dice(); }
/* The best fifth has the fall in its midst. */
static double rises_and_falls(double at) { return at > 0.55 ? 3 : 10 + at; }
static double falls_a_little(double at) { return (at > 0.5 ? 9.4 : 10) + dice() / 100; }
static double busy(double at) { return at > 0.5 ? 0.5 : 0; }
static double very_busy(double at UNUSED) { return 0.8; }
static double as_busy(double at UNUSED) { return 0.2; }

static void what_is_healthy_is_not_called(void **state)
{
	double (*const healthy[])(double at) = {steady,	    noisy,   with_dips,
						ends_badly, was_bad, falls_a_little};
	const size_t lengths[] = {40, 47, 200, 5000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(healthy); i++)
		for (size_t k = 0; k < ARRAY_LEN(lengths); k++)
			for (dice_state = 0; dice_state < 100;) {
				uint64_t seed = dice_state;
				struct drift d = drift_of(lengths[k], healthy[i], NULL);

				if (d.kind != DRIFT_NONE)
					fail_msg("kind %d of %zu rows (%zu, seed %zu)", d.kind,
						 lengths[k], i, (size_t)seed);
				dice_state = seed + 1;
			}
}

static void what_sinks_is_called_and_when(void **state)
{
	const size_t lengths[] = {45, 200, 5000};
	struct drift d;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(lengths); k++) {
		d = drift_of(lengths[k], falls, NULL);
		assert_int_equal(d.kind, DRIFT_SUNK);
		assert_true(d.since_s > 440 && d.since_s < 560);
		assert_true(d.share > 0.4 && d.share < 0.6);
		assert_true(d.best > 9 && d.last < 6);
		d = drift_of(lengths[k], sinks, NULL);
		assert_int_equal(d.kind, DRIFT_SUNK);
		assert_true(d.since_s > 300 && d.since_s < 700);
		d = drift_of(lengths[k], rises_and_falls, NULL);
		assert_int_equal(d.kind, DRIFT_SUNK);
		assert_true(d.since_s > 500 && d.since_s < 600);
		/* busy all the time, and it sank all the same */
		assert_int_equal(drift_of(lengths[k], falls, as_busy).kind, DRIFT_SUNK);
	}
}

static void what_another_program_took_is_no_drift(void **state)
{
	(void)state;
	assert_int_equal(drift_of(100, falls, busy).kind, DRIFT_BUSY);
	assert_int_equal(drift_of(100, falls, very_busy).kind, DRIFT_BUSY);
}

/* 15 seconds, of which the first 2.5 are twice as fast; and the same where they are more. */
static void fast_first_seconds_are_no_drift(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct course *is = new_course(&a), *was = new_course(&a);
	struct drift d;

	(void)state;
	for (size_t i = 0; i < 150; i++) {
		add(is, &a, (double)i / 10, i < 25 ? 20 : 10, 0);
		add(was, &a, (double)i / 10, i < 60 ? 20 : 10, 0);
	}
	drift_find(is, 0.1, &d);
	assert_int_equal(d.kind, DRIFT_NONE);
	drift_find(was, 0.1, &d);
	assert_int_equal(d.kind, DRIFT_SUNK);
}

static void of_few_rows_nothing_is_said(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct drift d;

	(void)state;
	assert_int_equal(drift_of(12, falls, NULL).kind, DRIFT_UNKNOWN);
	drift_find(new_course(&a), 0.1, &d);
	assert_int_equal(d.kind, DRIFT_UNKNOWN);
}

/* A row of @row_s whose slowest operation took @max_s, of a size that takes 10 ms; others had
 * the processors for @robbed of the row, and for @timed of what is timed of it. */
static void look(struct stalls *all, struct stall_usual *u, double at_s, double row_s, double max_s,
		 double robbed, double timed)
{
	const double waited[RANKS] = {0.1, 0.8};
	const struct measurement quick = {.p50 = 0.01, .max = 0.02, .took = 0.2};
	const struct measurement m = {
		.p50 = 0.01, .max = max_s, .took = row_s, .robbed = timed, .waited = waited};
	const struct sweep_row row = {.c = usual(), .out = quick, .in = m, .robbed = robbed};

	stall_look(all, u, &row, at_s, row_s);
}

/* A link that is gone for a moment: in the midst of an operation, or between those that are timed;
 * not what stays slow, a packet that was lost, or others' work. */
static void t_stalls(void **state)
{
	static const struct {
		double row_s, max_s, robbed, timed, then_s;
		size_t n;
	} cases[] = {
		{2.5, 2.0, 0, 0, 0.5, 1},	{2.5, 0.02, 0, 0, 0.5, 1},
		{2.5, 0.02, 0, 0, 2.5, 0},	{0.9, 0.41, 0, 0, 0.5, 0},
		{2.5, 2.0, 0.5, 0.5, 0.5, 0},	{2.5, 0.02, 0.5, 0.5, 0.5, 0},
		{2.5, 0.02, 0.02, 0.5, 0.5, 1}, /* it stood outside of what is timed */
		{0.95, 0.02, 0, 0, 0.5, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double waited[RANKS] = {0};
		struct stalls all = {.waited = waited};
		struct stall_usual u = {0};

		look(&all, &u, 1, 0.5, 0.02, 0, 0);
		look(&all, &u, 4, cases[i].row_s, cases[i].max_s, cases[i].robbed, cases[i].timed);
		look(&all, &u, 5, cases[i].then_s, 0.02, 0, 0);
		assert_int_equal(all.n, cases[i].n);
		if (cases[i].n) {
			assert_true(all.kept[0].at_s == 4);
			assert_true(fabs(all.kept[0].seconds - 2) < 0.02);
		}
	}
}

/* The row that is to show that the one before was an exception has a stall of its own. */
static void two_stalls_in_a_row_are_two(void **state)
{
	double waited[RANKS] = {0};
	struct stalls all = {.waited = waited};
	struct stall_usual u = {0};

	(void)state;
	look(&all, &u, 1, 0.5, 0.02, 0, 0);
	look(&all, &u, 4, 2.5, 0.02, 0, 0);
	look(&all, &u, 7, 2.5, 2.0, 0, 0);
	assert_int_equal(all.n, 2);
	assert_true(all.kept[0].at_s == 4 && all.kept[1].at_s == 7);
}

/* Who is waited for meanwhile; of two ranks each waits for the other. */
static void t_stalls_of_a_rank(void **state)
{
	double waited[] = {0.2, 0.3, 1.8, 0.1}, even[] = {1, 1.1, 0.9, 1};
	const struct stalls one = {.waited = waited, .sure_s = 3},
			    none = {.waited = even, .sure_s = 3};

	(void)state;
	assert_int_equal(stall_whom(&one, 4), 2);
	assert_int_equal(stall_whom(&one, 2), -1);
	assert_int_equal(stall_whom(&none, 4), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_rows_take_no_more_than_a_thousand),
		cmocka_unit_test(of_a_slow_end_no_row_is_lost),
		cmocka_unit_test(one_row_of_them_all),
		cmocka_unit_test(what_is_healthy_is_not_called),
		cmocka_unit_test(what_sinks_is_called_and_when),
		cmocka_unit_test(what_another_program_took_is_no_drift),
		cmocka_unit_test(fast_first_seconds_are_no_drift),
		cmocka_unit_test(of_few_rows_nothing_is_said),
		cmocka_unit_test(t_stalls),
		cmocka_unit_test(two_stalls_in_a_row_are_two),
		cmocka_unit_test(t_stalls_of_a_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
