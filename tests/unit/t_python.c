/* Which folders of packages an active Python has, without starting it. */
#include "lib/host/python.h"
#include "lib/host/sysroot.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

static char home[] = "/tmp/t_python.XXXXXX";

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void folder(struct arena *a, const char *name)
{
	char *path = arena_printf(a, "%s/%s", home, name);

	for (char *c = path + strlen(home) + 1; *c; c++)
		if (*c == '/') {
			*c = '\0';
			(void)mkdir(path, 0700);
			*c = '/';
		}
	assert_int_equal(mkdir(path, 0700), 0);
}

/* The place of a folder below home in the list, -1: it is not there. */
static int place(struct arena *a, const str_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], arena_printf(a, "%s/%s", home, name)))
			return (int)i;
	return -1;
}

static void set(struct arena *a, const char *name, const char *below)
{
	(void)setenv(name, arena_printf(a, "%s/%s", home, below), 1);
}

static void all_places(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	str_list l;
	FILE *f;

	(void)state;
	folder(&a, "listed");
	folder(&a, "venv/lib64/python3.9/site-packages");
	folder(&a, "conda/lib/python3.9/site-packages");
	folder(&a, "conda/lib/python3.12/site-packages");
	folder(&a, "real/lib/python3.11/site-packages");
	folder(&a, "real/bin");
	folder(&a, "linked/lib/python3.11/site-packages");
	folder(&a, "linked/bin");
	folder(&a, "between/lib/python3.11/site-packages");
	folder(&a, "between/bin");
	folder(&a, ".local/lib/python3.11/site-packages");
	f = fopen(arena_printf(&a, "%s/real/bin/python3", home), "w");
	assert_non_null(f);
	(void)fclose(f);
	(void)chmod(arena_printf(&a, "%s/real/bin/python3", home), 0700);
	assert_int_equal(symlink("../../between/bin/python",
				 arena_printf(&a, "%s/linked/bin/python3", home)),
			 0);
	assert_int_equal(symlink("python3", arena_printf(&a, "%s/between/bin/python", home)), 0);
	assert_int_equal(symlink(arena_printf(&a, "%s/real/bin/python3", home),
				 arena_printf(&a, "%s/between/bin/python3", home)),
			 0);
	(void)setenv("PYTHONPATH", arena_printf(&a, ":relative:%s/none:%s/listed", home, home), 1);
	set(&a, "VIRTUAL_ENV", "venv");
	set(&a, "CONDA_PREFIX", "conda");
	set(&a, "HOME", "");
	(void)setenv("PATH", arena_printf(&a, "%s/none:%s/linked/bin:/usr/bin", home, home), 1);
	python_packages(&a, &l);
	assert_int_equal(place(&a, &l, "listed"), 0);
	assert_int_equal(place(&a, &l, "venv/lib64/python3.9/site-packages"), 1);
	assert_int_equal(place(&a, &l, "conda/lib/python3.12/site-packages"), 2);
	assert_int_equal(place(&a, &l, "conda/lib/python3.9/site-packages"), 3);
	assert_int_equal(place(&a, &l, "linked/lib/python3.11/site-packages"), 4);
	assert_int_equal(place(&a, &l, "between/lib/python3.11/site-packages"), 5);
	assert_int_equal(place(&a, &l, "real/lib/python3.11/site-packages"), 6);
	assert_true(l.n >= 8); /* the user's own, by HOME with its slash */
}

static void a_folder_by_another_name(void **state)
{
	static const char *const paths[] = {"real/bin/", "programs", "none/../real/bin"};
	AUTO(arena_done) struct arena a = {0};
	str_list l;

	(void)state;
	assert_int_equal(symlink("real/bin", arena_printf(&a, "%s/programs", home)), 0);
	folder(&a, "none");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		set(&a, "PATH", paths[i]);
		python_packages(&a, &l);
		if (place(&a, &l, "real/lib/python3.11/site-packages") < 0)
			fail_msg("not found by %s", paths[i]);
	}
}

static void nothing_is_set(void **state)
{
	static const char *const names[] = {"PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME",
					    "PATH"};
	AUTO(arena_done) struct arena a = {0};
	str_list l;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unsetenv(names[i]);
	python_packages(&a, &l);
	for (size_t i = 0; i < l.n; i++)
		assert_true(starts_with(l.v[i], "/usr/"));
	sysroot_set(home); /* of a recorded machine only what it had */
	python_packages(&a, &l);
	assert_int_equal(l.n, 0);
	folder(&a, "usr/lib/python3/dist-packages");
	python_packages(&a, &l);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.v[0], "/usr/lib/python3/dist-packages");
	sysroot_set(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_places),
					   cmocka_unit_test(a_folder_by_another_name),
					   cmocka_unit_test(nothing_is_set)};
	int failed;

	if (!mkdtemp(home))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)nftw(home, drop, 8, FTW_DEPTH | FTW_PHYS);
	return failed;
}
