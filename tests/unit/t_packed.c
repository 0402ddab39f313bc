/* Compressed files: known by name and by how they begin, refused with what to type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/packed.h"

static void assert_named(const char *path, const char *end)
{
	const struct packed *p = packed_named(path);

	if (!p != !end || (p && strcmp(p->end, end)))
		fail_msg("%s: %s, not %s", path, p ? p->end : "none", end ? end : "none");
}

static void names_tell(void **state UNUSED)
{
	assert_named("old.log.gz", ".gz");
	assert_named("dir.tar/old.log", NULL);
	assert_named("dumps.tar.gz", ".tar.gz");
	assert_named("dumps.tgz", ".tgz");
	assert_named("logs.zip", ".zip");
	assert_named("gz", NULL);
	assert_named("-", NULL);
	assert_named("", NULL);
}

#define BEGINS(bytes) packed_begins(bytes, sizeof(bytes) - 1)

static void bytes_tell(void **state UNUSED)
{
	assert_string_equal(BEGINS("\x1f\x8b\x08\x00\x00")->end, ".gz");
	assert_string_equal(BEGINS("\x28\xb5\x2f\xfd\x04")->end, ".zst");
	assert_string_equal(BEGINS("PK\x03\x04....")->end, ".zip");
	assert_string_equal(BEGINS("BZh91AY&SY")->end, ".bz2");
	assert_null(BEGINS("\x1f"));
	assert_null(BEGINS("PKG: a line of a log"));
	assert_null(packed_begins("", 0));
}

static void assert_hint(const struct err *e, const char *line)
{
	if (!strstr(e->hint, line))
		fail_msg("'%s' does not say '%s'", e->hint, line);
}

static void what_to_type_is_said(void **state UNUSED)
{
	struct err e = {0};

	assert_int_equal(packed_refuse(packed_named("a.gz"), "a.gz", "ncclwhy", &e), -1);
	assert_int_equal(e.kind, ERR_SYS);
	assert_hint(&e, "zcat a.gz | ncclwhy");
	e = (struct err){0};
	assert_int_equal(packed_refuse(packed_named("a.gz"), "it's.gz", "ncclwhy", &e), -1);
	assert_hint(&e, "zcat 'it'\\''s.gz' | ncclwhy"); /* as a shell takes it */
	e = (struct err){0};
	assert_int_equal(packed_refuse_files(packed_named("d.tar.gz"), "d.tar.gz", "ncclwhy", &e),
			 -1);
	assert_hint(&e, "tar -xf d.tar.gz -C d");
}

/* "x.gz" that begins as gzip's may be a tar within: its name says more than its bytes. */
static void a_name_says_more_than_bytes(void **state UNUSED)
{
	struct err e = {0};
	const struct packed *gzip = BEGINS("\x1f\x8b\x08\x00\x00");

	assert_int_equal(packed_refuse_files(gzip, "d.tgz", "ncclwhy", &e), -1);
	assert_hint(&e, "tar -xf d.tgz -C d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_tell),
		cmocka_unit_test(bytes_tell),
		cmocka_unit_test(what_to_type_is_said),
		cmocka_unit_test(a_name_says_more_than_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
