/* Where a vendor's library is looked for, and in which order. */
#include "lib/core/arena.h"
#include "lib/host/places.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

static char home[] = "/tmp/t_places.XXXXXX";

static int drop(const char *path, const struct stat *st UNUSED, int kind UNUSED,
		struct FTW *at UNUSED)
{
	return remove(path);
}

/* A file below home, and its folders. */
static void put(struct arena *a, const char *name)
{
	char *path = arena_printf(a, "%s/%s", home, name);
	FILE *f;

	for (char *c = path + strlen(home) + 1; *c; c++)
		if (*c == '/') {
			*c = '\0';
			(void)mkdir(path, 0700);
			*c = '/';
		}
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
}

struct seen {
	struct arena *a;
	const char *text;
	const char *is; /* this one */
};

static bool note(void *arg, enum place place, const char *what)
{
	static const char sign[] = {
		[PLACE_FILE] = 'f', [PLACE_PROCESS] = 'p', [PLACE_LOADER] = 'l'};
	struct seen *s = arg;
	const char *below = starts_with(what, home) ? what + strlen(home) + 1 : what;

	s->text = arena_printf(s->a, "%s%c %s\n", s->text, sign[place], below);
	return s->is && streq(s->is, below);
}

static const char *const names[] = {"libodd.so.2", "libodd.so.1", NULL};
static const char *const packages[] = {"vendor/odd/lib", NULL};

static const char *search(struct arena *a, const char *given, const char *is)
{
	const struct library_want w = {given, names, packages};
	struct seen s = {.a = a, .text = "", .is = is};

	assert_int_equal(places_search(&w, note, &s), is != NULL);
	return s.text;
}

static void in_order(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const char *site = "conda/lib/python3.12/site-packages";

	(void)state;
	put(&a, "other/vendor/odd/lib/libodd.so.1");
	put(&a, "conda/conda-meta/history");
	put(&a, "conda/lib/libodd.so.1");
	put(&a, arena_printf(&a, "%s/torch/lib/libtorch.so", site));
	put(&a, arena_printf(&a, "%s/torch/lib/libodd.so.1", site));
	put(&a, arena_printf(&a, "%s/vendor/odd/lib/libodd.so.1", site));
	put(&a, arena_printf(&a, "%s/vendor/odd/lib/libodd.so.2", site));
	put(&a, "cuda/lib64/libodd.so.1");
	setenv("PYTHONPATH", arena_printf(&a, "%s/other:%s/%s", home, home, site), 1);
	setenv("CUDA_HOME", arena_printf(&a, "%s/cuda", home), 1);
	assert_string_equal(search(&a, NULL, NULL),
			    "p libodd.so.2\np libodd.so.1\n"
			    "f conda/lib/python3.12/site-packages/vendor/odd/lib/libodd.so.2\n"
			    "f conda/lib/python3.12/site-packages/vendor/odd/lib/libodd.so.1\n"
			    "f conda/lib/python3.12/site-packages/torch/lib/libodd.so.1\n"
			    "f conda/lib/libodd.so.1\n"
			    "l libodd.so.2\nl libodd.so.1\n"
			    "f other/vendor/odd/lib/libodd.so.1\n"
			    "f conda/lib/python3.12/site-packages/vendor/odd/lib/libodd.so.2\n"
			    "f conda/lib/python3.12/site-packages/vendor/odd/lib/libodd.so.1\n"
			    "f conda/lib/python3.12/site-packages/torch/lib/libodd.so.1\n"
			    "f cuda/lib64/libodd.so.1\n");
	/* nothing after the one that is it, nothing but the one that was named */
	assert_string_equal(search(&a, "", "libodd.so.2"), "p libodd.so.2\n");
	assert_string_equal(search(&a, "/named/libodd.so", NULL), "f /named/libodd.so\n");
	assert_string_equal(search(&a, "libnamed.so", NULL), "l libnamed.so\n");
	/* /usr has a lib, too, and is no conda */
	assert_int_equal(remove(arena_printf(&a, "%s/conda/conda-meta/history", home)), 0);
	assert_int_equal(rmdir(arena_printf(&a, "%s/conda/conda-meta", home)), 0);
	assert_null(strstr(search(&a, NULL, NULL), "f conda/lib/libodd.so.1\n"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(in_order)};
	static const char *const unset[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "PATH"};
	int failed;

	for (size_t i = 0; i < ARRAY_LEN(unset); i++)
		unsetenv(unset[i]);
	if (!mkdtemp(home))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)nftw(home, drop, 8, FTW_DEPTH | FTW_PHYS);
	return failed;
}
