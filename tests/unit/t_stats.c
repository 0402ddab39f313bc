#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/stats.h"

#include <limits.h>
#include <math.h>

static void what_is_sorted(void **state UNUSED)
{
	double d[] = {2, -INFINITY, 0.5, 2, INFINITY, -1};
	const double in_order[] = {-INFINITY, -1, 0.5, 2, 2, INFINITY};
	float f[] = {3, 1, 2};
	int i[] = {INT_MAX, 0, INT_MIN, -1};

	sort_doubles(d, ARRAY_LEN(d));
	assert_memory_equal(d, in_order, sizeof(d));
	sort_floats(f, ARRAY_LEN(f));
	assert_true(f[0] == 1 && f[1] == 2 && f[2] == 3);
	sort_ints(i, ARRAY_LEN(i));
	assert_true(i[0] == INT_MIN && i[1] == -1 && i[2] == 0 && i[3] == INT_MAX);
	sort_doubles(NULL, 0);
	sort_floats(NULL, 0);
	sort_ints(NULL, 0);
}

static void which_is_a_quantile(void **state UNUSED)
{
	static const struct {
		size_t n;
		double q, is; /* of 0, 1, 2 ... */
	} cases[] = {
		{1, 0, 0},   {1, 0.5, 0},  {1, 1, 0},	 {2, 0.5, 1}, {3, 0.5, 1}, {4, 0.5, 2},
		{5, 0.5, 2}, {11, 0.1, 1}, {11, 0.9, 9}, {10, 0, 0},  {10, 1, 9},
	};
	const double v[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_true(sorted_quantile(v, cases[i].n, cases[i].q) == cases[i].is);
	assert_true(isnan(sorted_quantile(NULL, 0, 0.5)));
}

static void which_is_the_median(void **state UNUSED)
{
	double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 2}, one[] = {7};

	assert_true(median(odd, ARRAY_LEN(odd)) == 5);
	assert_true(odd[0] == 1 && odd[2] == 9);
	assert_true(median(even, ARRAY_LEN(even)) == 3); /* one that was measured */
	assert_true(median(one, 1) == 7);
	assert_true(isnan(median(NULL, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sorted),
		cmocka_unit_test(which_is_a_quantile),
		cmocka_unit_test(which_is_the_median),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
