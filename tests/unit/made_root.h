#ifndef TESTS_UNIT_MADE_ROOT_H
#define TESTS_UNIT_MADE_ROOT_H
/*
 * A machine's files made up one by one, in a folder of the test's own: made_root and
 * made_root_remove are a group's setup and teardown.
 */
#include "lib/core/file.h"
#include "lib/host/sysroot.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static char made_root_dir[] = "/tmp/t_made_root.XXXXXX";

static inline int made_root(void **state)
{
	(void)state;
	if (!mkdtemp(made_root_dir))
		return -1;
	sysroot_set(made_root_dir);
	return 0;
}

static inline int made_root_remove(void **state)
{
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	sysroot_set(NULL);
	return system(arena_printf(&a, "rm -rf %s", made_root_dir));
}

static inline void made_root_put(const char *path, const char *text)
{
	AUTO(arena_done) struct arena a = {0};
	const struct file_replace_opts o = {.make_parents = true};
	struct err e = {0};

	assert_int_equal(file_replace(arena_printf(&a, "%s%s", made_root_dir, path), text,
				      strlen(text), &o, &e),
			 0);
}

/* Nothing but which control groups this process is in: lines of /proc/self/cgroup. */
static inline void made_root_begin(const char *groups)
{
	AUTO(arena_done) struct arena a = {0};

	assert_int_equal(system(arena_printf(&a, "rm -rf %s/*", made_root_dir)), 0);
	made_root_put("/proc/self/cgroup", groups);
}

#endif
