/* Port lists, what names stand for, folding, and operands. */
#include "probes/port/targets.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/unit/in_range.h"

static const uint16_t sample[] = {40000, 50000};
static const struct port_env env = {
	.master = 29500,
	.range = {32768, 60999, true},
	.sample = {.v = (uint16_t *)(uintptr_t)sample, .n = 2, .cap = 2}};

static void lists(void **state)
{
	static const struct {
		const char *text, *folded; /* NULL: refused */
		size_t n;
	} cases[] = {
		{"29500", "29500", 1},
		{"30000-30002,22", "22,30000-30002", 4},
		{"1-65535", "1-65535", 65535},
		{"5,5,4-6,5", "4-6", 3},
		{"ssh", "22", 1},
		{"slurm", "6817-6819,40000,50000", 5},
		{"nccl", "28028,29400,29500,40000,50000", 5},
		{"ray", "6379,8265,10001-10002,12501,15000,17500,19999,40000,50000,52365", 11},
		{"ray,10002-19999", "6379,8265,10001-19999,40000,50000,52365", 10004},
		{"ssh,29500,22", "22,29500", 2},
		{"0x16", "22", 1},
		{"", NULL, 0},
		{"0", NULL, 0},
		{"65536", NULL, 0},
		{"1-65536", NULL, 0},
		{"0-5", NULL, 0},
		{"9-8", NULL, 0},
		{"1-", NULL, 0},
		{"-1", NULL, 0},
		{"1,", NULL, 0},
		{",1", NULL, 0},
		{"1 2", NULL, 0},
		{"1--2", NULL, 0},
		{"http", NULL, 0},
		{"99999999999999999999", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		port_list got = {0};
		struct err e = {0};
		int rc = ports_parse(cases[i].text, &env, &a, &got, &e);

		if (rc != (cases[i].folded ? 0 : -1))
			fail_msg("'%s': %d", cases[i].text, rc);
		if (rc) {
			assert_int_equal(e.kind, ERR_USAGE);
			assert_non_null(strstr(e.msg, cases[i].text));
			continue;
		}
		assert_int_equal(got.n, cases[i].n);
		assert_string_equal(ports_fold(got.v, got.n, 0, &a), cases[i].folded);
	}
}

/* Another process reads the same list, in the same order. */
static void spelling_keeps_the_order(void **state UNUSED)
{
	static const char *const cases[] = {"nccl", "ray,ssh", "5-3000,1,2,3,4", "65535,1", "7"};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		port_list first = {0}, again = {0};
		struct err e = {0};

		assert_int_equal(ports_parse(cases[i], &env, &a, &first, &e), 0);
		assert_int_equal(ports_parse(ports_spell(&first, &a), &(const struct port_env){0},
					     &a, &again, &e),
				 0);
		assert_int_equal(again.n, first.n);
		assert_memory_equal(again.v, first.v, first.n * sizeof(*first.v));
	}
}

/* What is folded and read again is the same set, whatever the set. */
static void fold_is_undone_by_parse(void **state)
{
	(void)state;
	srandom(7);
	for (int round = 0; round < 300; round++) {
		AUTO(arena_done) struct arena a = {0};
		size_t n = 1 + (size_t)random() % 60, spread = round % 2 ? 100 : 65535;
		uint16_t v[60];
		port_list again = {0};
		struct err e = {0};
		const char *text;

		for (size_t i = 0; i < n; i++)
			v[i] = (uint16_t)(1 + (size_t)random() % spread);
		text = ports_fold(v, n, 0, &a);
		assert_int_equal(ports_parse(text, &env, &a, &again, &e), 0);
		assert_string_equal(ports_fold(again.v, again.n, 0, &a), text);
		for (size_t i = 0; i < n; i++) {
			bool there = false;

			for (size_t k = 0; k < again.n; k++)
				there |= again.v[k] == v[i];
			assert_true(there);
		}
	}
}

static void fold_is_bounded(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	uint16_t v[100];
	const char *text;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		v[i] = (uint16_t)(1000 + 2 * i);
	text = ports_fold(v, 100, 40, &a);
	assert_true(strlen(text) <= 44);
	assert_string_equal(text + strlen(text) - 4, ",...");
}

static void the_environment(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	struct port_env got;
	port_list ports = {0};

	(void)state;
	setenv("MASTER_PORT", "1234", 1);
	assert_int_equal(port_env_read(&got, 5, 1, &a, &e), 0);
	assert_int_equal(got.master, 1234);
	assert_true(got.master_said);
	assert_int_equal(got.sample.n, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_uint_in_range(got.sample.v[i], got.range.first, got.range.last);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(got.sample.v[i], got.sample.v[k]);
	}
	ports_default(&got, &a, &ports);
	assert_int_equal(ports.n, 6);
	setenv("MASTER_PORT", "port", 1);
	assert_int_equal(port_env_read(&got, 5, 1, &a, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	unsetenv("MASTER_PORT");
	assert_int_equal(port_env_read(&got, 0, 1, &a, &e), 0);
	assert_int_equal(got.master, PORT_MASTER);
	/* a range smaller than what is asked for does not hang */
	/* what another host says of its own may be no range */
	assert_int_equal(port_range_of(60000, 1).first, 32768);
	assert_int_equal(port_range_of(0, 9).last, 60999);
	assert_false(port_range_of(5, 65536).known);
	got.range = port_range_of(100, 102);
	assert_true(got.range.known);
	port_env_draw(&got, 50, 0, &a);
	assert_int_equal(got.sample.n, 3);
}

static void operands(void **state)
{
	static const struct {
		const char *text, *given, *host, *ports; /* given NULL: refused */
	} cases[] = {
		{"10.0.0.2", "10.0.0.2", "10.0.0.2", "7"},
		{"10.0.0.2:29500,30000-30002", "10.0.0.2", "10.0.0.2", "29500,30000-30002"},
		{"node1:ssh", "node1", "node1", "22"},
		{"fd00::2", "fd00::2", "fd00::2", "7"},
		{"[fd00::2]:29500", "fd00::2", "fd00::2", "29500"},
		{"[fd00::2]", "fd00::2", "fd00::2", "7"},
		{"node1=10.0.0.2:5", "node1", "10.0.0.2", "5"},
		{"node1=[fd00::2]:5", "node1", "fd00::2", "5"},
		{"fe80::1%eth0", "fe80::1%eth0", "fe80::1%eth0", "7"},
		{"", NULL, NULL, NULL},
		{":5", NULL, NULL, NULL},
		{"=10.0.0.2", NULL, NULL, NULL},
		{"node1:", NULL, NULL, NULL},
		{"node1:x", NULL, NULL, NULL},
		{"[fd00::2:5", NULL, NULL, NULL},
		{"-evil", NULL, NULL, NULL},
		{"a b", NULL, NULL, NULL},
		{"node1:1:2", NULL, NULL, NULL},
	};
	static uint16_t seven = 7;
	const port_list otherwise = {.v = &seven, .n = 1, .cap = 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		const char *text = cases[i].text;
		const str_list one = {.v = &text, .n = 1, .cap = 1};
		target_list got = {0};
		struct err e = {0};
		int rc = targets_parse(&one, &otherwise, &env, &a, &got, &e);

		if (rc != (cases[i].given ? 0 : -1))
			fail_msg("'%s': %d %s", text, rc, e.msg);
		if (rc) {
			assert_int_equal(e.kind, ERR_USAGE);
			continue;
		}
		assert_string_equal(got.v[0].given, cases[i].given);
		assert_string_equal(got.v[0].host, cases[i].host);
		assert_string_equal(ports_fold(got.v[0].ports.v, got.v[0].ports.n, 0, &a),
				    cases[i].ports);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(spelling_keeps_the_order),
		cmocka_unit_test(fold_is_undone_by_parse),
		cmocka_unit_test(fold_is_bounded),
		cmocka_unit_test(the_environment),
		cmocka_unit_test(operands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
