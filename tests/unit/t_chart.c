/*
 * A picture of lines: it stands alone, what is in it is named, and nothing that a document says
 * breaks it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/report/chart.h"

#include <math.h>

static const struct chart times = {"Time",	"size",	       "time",
				   .log = true, .sizes = true, .durations = true};

/* Of the points (@x, @y) and (@x + 8, 1000 * @y), of a line called @name. */
static const char *drawn(struct arena *a, const char *title, const char *name, double x, double y)
{
	struct chart_panel p = {times, {0}};
	struct chart_line *l = LIST_ADD(a, &p.lines);
	const char *text;

	l->name = name;
	*LIST_ADD(a, &l->points) = (struct chart_point){x, y};
	*LIST_ADD(a, &l->points) = (struct chart_point){x + 8, y * 1000};
	text = chart_svg(title, &p, 1, a);
	assert_int_equal(strncmp(text, "<svg ", 5), 0);
	return text;
}

static void what_is_drawn_is_named(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const char *s = drawn(&a, "a < b\nsecond", "x & \1y", 8, 2);

	(void)state;
	assert_non_null(strstr(s, "<title>a &#60; b\nsecond</title>"));
	assert_non_null(strstr(s, ">a &#60; b</text>"));
	assert_non_null(strstr(s, ">second</text>"));
	assert_non_null(strstr(s, ">x &#38; y</text>"));
	assert_non_null(strstr(s, "<title>x &#38; y: 8 B, 2 us</title>"));
	assert_non_null(strstr(s, "<title>x &#38; y: 16 B, 2 ms</title>"));
	assert_non_null(strstr(s, "text-anchor=\"end\">1 us</text>"));
	assert_non_null(strstr(s, "text-anchor=\"end\">10 ms</text>"));
	assert_non_null(strstr(s, "prefers-color-scheme:dark"));
}

static void nothing_breaks_it(void **state)
{
	static const double odd[] = {0, -1, 1e-300, 1e300, 1e308, NAN, INFINITY, -INFINITY};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t x = 0; x < ARRAY_LEN(odd); x++)
		for (size_t y = 0; y < ARRAY_LEN(odd); y++) {
			const char *s = drawn(&a, "t", "n", odd[x], odd[y]);

			assert_null(strstr(s, "nan"));
			assert_null(strstr(s, "inf"));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_drawn_is_named),
					   cmocka_unit_test(nothing_breaks_it)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
