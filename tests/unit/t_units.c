/* Numbers with units: what is read, what is refused, and how they are written. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/text.h"
#include "lib/core/units.h"

#define REFUSED UINT64_MAX

struct row {
	const char *s;
	uint64_t want; /* REFUSED: must fail and leave the output alone */
};

static void check_rows(const struct row *rows, size_t n, int (*parse)(const char *, uint64_t *))
{
	for (size_t i = 0; i < n; i++) {
		uint64_t got = REFUSED;
		int rc = parse(rows[i].s, &got);

		if (got != rows[i].want || (rc == 0) != (rows[i].want != REFUSED))
			fail_msg("'%s': rc %d, got %llu, want %llu", rows[i].s, rc,
				 (unsigned long long)got, (unsigned long long)rows[i].want);
	}
}

static void reads_whole_numbers(void **state UNUSED)
{
	static const struct row rows[] = {
		{"0", 0},
		{"16", 16},
		{"010", 10},
		{"0x10", 16},
		{"0XfF", 255},
		{"18446744073709551614", UINT64_MAX - 1},
		{"18446744073709551616", REFUSED},
		{"99999999999999999999999", REFUSED},
		{"0x10000000000000000", REFUSED},
		{"", REFUSED},
		{" 1", REFUSED},
		{"1 ", REFUSED},
		{"+1", REFUSED},
		{"-1", REFUSED},
		{"1.0", REFUSED},
		{"1e3", REFUSED},
		{"0x", REFUSED},
		{"ff", REFUSED},
		{"1,000", REFUSED},
		{"\xd9\xa1", REFUSED},
	};

	check_rows(rows, ARRAY_LEN(rows), parse_uint);
}

static void reads_sizes(void **state UNUSED)
{
	static const struct row rows[] = {
		{"8", 8},
		{"0", 0},
		{"8B", 8},
		{"64K", 65536},
		{"64k", 65536},
		{"1KiB", 1024},
		{"1M", 1 << 20},
		{"1.5M", 3 << 19},
		{"0.3K", 307},
		{"1G", 1ull << 30},
		{"1GB", 1ull << 30},
		{"2T", 1ull << 41},
		{"16777215T", 16777215ull << 40},
		{"16777216T", REFUSED},
		{"16777215.9999999T", (16777216ull << 40) - 109952},
		{"1.99999999999999999999K", REFUSED},
		{"", REFUSED},
		{"K", REFUSED},
		{"1 K", REFUSED},
		{"1KK", REFUSED},
		{"1P", REFUSED},
		{"1.", REFUSED},
		{".5K", REFUSED},
		{"-1K", REFUSED},
		{"1.2.3K", REFUSED},
		{"1Ki", REFUSED},
	};

	check_rows(rows, ARRAY_LEN(rows), parse_size);
}

static void reads_durations(void **state UNUSED)
{
	static const struct row rows[] = {
		{"10", 10 * NS_PER_S},
		{"1.5", 1500 * NS_PER_MS},
		{"500ms", 500 * NS_PER_MS},
		{"20us", 20000},
		{"7ns", 7},
		{"0.5ns", 0},
		{"10s", 10 * NS_PER_S},
		{"2m", 120 * NS_PER_S},
		{"2min", 120 * NS_PER_S},
		{"10sec", 10 * NS_PER_S},
		{"1h", 3600 * NS_PER_S},
		{"1d", 86400 * NS_PER_S},
		{"0", 0},
		{"18446744073s", 18446744073 * NS_PER_S},
		{"18446744074s", REFUSED},
		{"5 s", REFUSED},
		{"5 parsecs", REFUSED},
		{"1h30m", REFUSED},
		{"-1s", REFUSED},
		{"inf", REFUSED},
		{"", REFUSED},
	};

	check_rows(rows, ARRAY_LEN(rows), parse_duration);
}

static void reads_doubles(void **state UNUSED)
{
	static const char *const bad[] = {"",	    " 1", "1 ", "inf", "nan", "0x1p3", "1e999",
					  "-1e999", "e5", "1e", "--1", "1,5", ".",     "1f"};
	static const struct {
		const char *s;
		double want;
	} good[] = {{"0", 0}, {"-2.5", -2.5}, {"1e3", 1000}, {".5", .5}, {"+3", 3}};
	double got;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		got = 42;
		if (!parse_double(bad[i], &got) || got != 42)
			fail_msg("'%s' was taken as %g", bad[i], got);
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (parse_double(good[i].s, &got) || got != good[i].want)
			fail_msg("'%s'", good[i].s);
}

static void writes_for_people(void **state UNUSED)
{
	static const struct {
		const char *(*format)(struct unit_buf *, uint64_t);
		uint64_t v;
		const char *want;
	} rows[] = {
		{format_size, 0, "0 B"},
		{format_size, 1023, "1023 B"},
		{format_size, 1024, "1 KiB"},
		{format_size, 1500, "1.5 KiB"},
		{format_size, 65536, "64 KiB"},
		{format_size, (1 << 20) - 1, "1 MiB"},
		{format_size, 1ull << 30, "1 GiB"},
		{format_size, UINT64_MAX, "16 EiB"},
		{format_mbps, 10, "10 Mb/s"},
		{format_mbps, 1000, "1 Gb/s"},
		{format_mbps, 2500, "2.5 Gb/s"},
		{format_mbps, 25000, "25 Gb/s"},
		{format_mbps, 3200000, "3200 Gb/s"},
		{format_duration, 0, "0 ns"},
		{format_duration, 999, "999 ns"},
		{format_duration, 1500, "1.5 us"},
		{format_duration, 999999, "1 ms"},
		{format_duration, 1234567, "1.2 ms"},
		{format_duration, 999999999, "1 s"},
		{format_duration, 10 * NS_PER_S, "10 s"},
		{format_duration, 90 * NS_PER_S, "90 s"},
		{format_duration, 150 * NS_PER_S, "2.5 min"},
		{format_duration, 86400 * NS_PER_S, "24 h"},
		{format_duration, 365 * 86400 * NS_PER_S, "365 d"},
	};
	struct unit_buf b;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(rows[i].format(&b, rows[i].v), rows[i].want);
}

static void clock_goes_forward(void **state UNUSED)
{
	uint64_t before = now_ns();

	assert_true(before > 0);
	assert_true(now_ns() >= before);
}

static void writes_figures(void **state UNUSED)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {{0, "0"},
		     {7, "7"},
		     {999, "999"},
		     {1000, "1000"},
		     {118775.2, "118775"},
		     {-52001, "-52001"},
		     {0.0239512, "0.02395"},
		     {55.2499, "55.25"},
		     {1e15, "1e+15"}};
	struct unit_buf b;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(format_number(&b, cases[i].v), cases[i].text);
}

static void rates_of_slow_networks_have_digits_too(void **state UNUSED)
{
	static const struct {
		double gbps;
		const char *text;
	} cases[] = {{460.12, "460.12"},   {1.1, "1.10"},    {5262.7, "5262.70"},
		     {0.9999, "1.00"},	   {0.125, "0.125"}, {0.01194, "0.0119"},
		     {0.00123, "0.00123"}, {0.11, "0.11"},   {0, "0"}};
	struct unit_buf b;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(format_rate(&b, cases[i].gbps), cases[i].text);
}

static void poll_waits_until_then_and_never_for_ever(void **state UNUSED)
{
	const uint64_t day_ns = 24 * 3600 * NS_PER_S, now = now_ns();

	assert_int_equal(ms_until(0), 0);
	assert_int_equal(ms_until(now), 0);
	assert_in_range(ms_until(now + 10 * NS_PER_S), 9000, 10000);
	assert_int_equal(ms_until(now_ns() + NS_PER_MS / 2), 1);
	assert_in_range(ms_until(now + 20 * day_ns), 20u * 86399000, 20u * 86400000);
	/* an int has room for 24 days */
	assert_int_equal(ms_until(now + 30 * day_ns), INT_MAX);
	assert_int_equal(ms_until(now + 50 * day_ns), INT_MAX);
	assert_int_equal(ms_until(UINT64_MAX), INT_MAX);
}

static void says_how_many_more_there_are(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct text t;

	text_init(&t, &a);
	text_add(&t, "a, b");
	text_more(&t, "", 2, 2);
	text_more(&t, "", 1, 2);
	assert_string_equal(t.s, "a, b");
	text_more(&t, "", 5, 2);
	text_more(&t, ";", 9, 8);
	assert_string_equal(t.s, "a, b and 3 more; and 1 more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_whole_numbers),
		cmocka_unit_test(reads_sizes),
		cmocka_unit_test(reads_durations),
		cmocka_unit_test(reads_doubles),
		cmocka_unit_test(writes_for_people),
		cmocka_unit_test(clock_goes_forward),
		cmocka_unit_test(writes_figures),
		cmocka_unit_test(says_how_many_more_there_are),
		cmocka_unit_test(rates_of_slow_networks_have_digits_too),
		cmocka_unit_test(poll_waits_until_then_and_never_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
