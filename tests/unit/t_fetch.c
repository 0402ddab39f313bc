/* What a host says of its files, and what of it is believed. What is typed there:
 * tests/cli/ncclwhy_hosts.bats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/cluster/fetch.h"

static struct arena a;

static bool next(const char *text, size_t *at, struct frame *f)
{
	return frame_next(text, strlen(text), at, 2, &a, f);
}

static void all_kinds(void **state UNUSED)
{
	static const char text[] =
		"folder 0 6\n/tmp/x\nfile 0 12 5 1763630010 7 12\n/tmp/x/./a\nb\n"
		"abcdeabsent 1\nclosed 1 2\n/z\nfile 1 0 0 0 7 2\n/q\nend\n";
	struct frame f;
	size_t at = 0;

	assert_true(next(text, &at, &f));
	assert_int_equal(f.kind, FRAME_FOLDER);
	assert_string_equal(f.name, "/tmp/x");
	assert_true(next(text, &at, &f));
	assert_int_equal(f.kind, FRAME_FILE);
	assert_string_equal(f.name, "/tmp/x/a\nb");
	assert_int_equal(f.size, 12);
	assert_int_equal(f.changed_s, 1763630010);
	assert_int_equal(f.n, 5);
	assert_memory_equal(f.data, "abcde", 5);
	assert_true(next(text, &at, &f));
	assert_int_equal(f.kind, FRAME_ABSENT);
	assert_int_equal(f.asked, 1);
	assert_true(next(text, &at, &f));
	assert_int_equal(f.kind, FRAME_CLOSED);
	assert_true(next(text, &at, &f));
	assert_int_equal(f.n, 0);
	assert_true(next(text, &at, &f));
	assert_int_equal(f.kind, FRAME_END);
	assert_false(next(text, &at, &f));
}

/* It could be anybody's: a name that leads away, more than was asked for, less than was said. */
static void what_is_refused(void **state UNUSED)
{
	static const char *const wrong[] = {
		"file 0 1 1 0 7 9\n/a/../b/c\nx",
		"file 0 1 1 0 7 5\n/a/..\nx",
		"file 0 1 1 0 7 4\na/bc\nx",
		"file 0 1 1 0 7 1\n/\nx",
		"file 0 1 1 0 7 0\n\nx",
		"file 2 1 1 0 7 2\n/a\nx",
		"file 0 1 2 0 7 2\n/a\nxy",
		"file 0 9 9 0 7 2\n/a\nxy",
		"file 0 1 1 0 7 3\n/a\nx",
		"file 0 1 1 0 7 99\n/a\nx",
		"file 0 -1 1 0 7 2\n/a\nx",
		"file 0 1 1 2\n/a\nx",
		"file 0 99999999999999999999 1 0 7 2\n/a\nx",
		"files 0 1 1 0 7 2\n/a\nx",
		"",
		"\n",
		"end",
		"end now\n",
		"absent\n",
		"absent 0",
	};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct frame f;
		size_t at = 0;

		assert_false(next(wrong[i], &at, &f));
	}
}

static int end(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
