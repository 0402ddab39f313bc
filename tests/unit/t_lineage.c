/* Variables that somebody above us has, where ours were taken away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "lib/core/lineage.h"
#include "tests/unit/apart.h"

static const char name[] = "PATH"; /* whoever starts tests has it */
static struct arena a;
static char *expected;

/* As sudo: our own program began without it. */
static int without(void)
{
	const char *got;

	memset(getenv(name) - sizeof(name), 'x', sizeof(name));
	if (getenv(name))
		return 1;
	got = lineage_env(&a, name);
	return got && streq(got, expected) ? 0 : 2;
}

static void t_taken_away(void **state UNUSED) { assert_int_equal(apart(without), 0); }

static int unset(void)
{
	const char *got;

	(void)unsetenv(name);
	got = lineage_env(&a, name);
	return got && streq(got, expected) ? 0 : 2;
}

static void t_unset(void **state UNUSED) { assert_int_equal(apart(unset), 0); }

static void t_nobody(void **state UNUSED)
{
	assert_null(lineage_env(&a, "WINDSOCK_NOBODY_HAS"));
	assert_null(lineage_env(&a, "WINDSOCK_NOBODY_HAS="));
	assert_int_equal(parent_of(&a, getpid()), getppid());
	assert_int_equal(parent_of(&a, INT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_taken_away),
		cmocka_unit_test(t_unset),
		cmocka_unit_test(t_nobody),
	};
	int failed;

	if (!getenv(name))
		return 1;
	expected = arena_strdup(&a, getenv(name));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_done(&a);
	return failed;
}
