/* Were all ranks asked for the same: what is compared, and what each may have for itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/alike.h"
#include "lib/core/units.h"

static struct err compare(const struct rank_opts *a, const struct rank_opts *b)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct rdzv_member members[] = {{.host = "a"}, {.host = "b"}};
	struct alike all[2];
	struct err e = {0};
	int differ;

	alike_of(a, &all[0]);
	alike_of(b, &all[1]);
	differ = alike_compare(all, members, 2, &arena, &e);
	assert_int_equal(differ, e.kind ? -1 : 0);
	return e;
}

static const struct rank_opts usual = {.backend = "tcp", .sweep = {.iters = 20, .types = 1}};

static struct rank_opts with_rails(const char *rails)
{
	struct rank_opts o = usual;

	o.sweep.coll = coll_find("all_reduce");
	o.rails = rails;
	return o;
}

static void long_words_are_told_apart(void **state)
{
	const struct rank_opts a = with_rails("enp12s0,enp13s0,enp14s0,enp15s0,enp16s0"),
			       b = with_rails("enp12s0,enp13s0,enp14s0,enp15s0,enp17s0"),
			       c = with_rails("enp12s0,enp13s0,enp14s0,enp15s"),
			       d = with_rails("enp12s0,enp13s0,enp14s0,enp15s0");
	struct err e;

	(void)state;
	assert_false(compare(&a, &a).kind);
	assert_false(compare(&d, &d).kind);
	assert_true(compare(&c, &d).kind);
	assert_true(compare(&d, &a).kind);
	e = compare(&a, &b);
	assert_non_null(strstr(e.msg, "--rails is enp12s0,enp13s0,"));
	assert_non_null(strstr(e.msg, " on rank 0 (a) and enp12s0,"));
}

static void a_deadline_and_an_address_are_ones_own(void **state)
{
	struct rank_opts a = with_rails(NULL), b = a;

	(void)state;
	b.deadline_ns = 20 * NS_PER_S;
	b.bind = "127.0.0.1";
	assert_false(compare(&a, &b).kind);
	b.together = true; /* who goes on measuring would wait for who does not */
	assert_non_null(strstr(compare(&a, &b).msg, "--together is not given on rank 0"));
	b.together = false;
	b.sweep.iters++;
	assert_non_null(strstr(compare(&a, &b).msg, "-n is 20 on rank 0 (a) and 21 on rank 1 (b)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_words_are_told_apart),
		cmocka_unit_test(a_deadline_and_an_address_are_ones_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
