/* What of another process's Python is known without it: the lines of its instructions, where fields
 * lie, and which symbols a file has. */
#include "lib/core/arena.h"
#include "lib/core/file.h"
#include "lib/python/layout.h"
#include "lib/python/stack.h"
#include "lib/python/symbols.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* One function, as each Python compiles it: def f(a,\n b): x = [i for i in\n range(a)] ..., with
 * 200 empty lines in the middle. */
struct line {
	int at, line;
};

static void same(enum line_table form, const char *hex, const struct line *lines, size_t n)
{
	uint8_t table[256];
	size_t bytes = strlen(hex) / 2;

	for (size_t i = 0; i < bytes; i++) {
		unsigned v;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
		table[i] = (uint8_t)v;
	}
	for (size_t i = 0; i < n; i++) {
		int ends = i + 1 < n ? lines[i + 1].at : lines[i].at + 2;

		for (int at = lines[i].at; at < ends; at += 2)
			assert_int_equal(line_of(form, table, bytes, 3, at), lines[i].line);
	}
	assert_int_equal(line_of(form, table, bytes, 3, -2), 3); /* it has not begun */
	for (size_t cut = 0; cut < bytes; cut++)
		(void)line_of(form, table, cut, 3, 100);
}

static void steps_to_39(void **state UNUSED)
{
	static const struct line lines[] = {{0, 5},    {6, 6},	  {12, 5},   {18, 7},
					    {22, 9},   {24, 10},  {26, 9},   {30, 212},
					    {34, 213}, {36, 214}, {46, 216}, {58, 217}};

	same(LINES_STEPS, "0002060106ff06020402020102ff047f004c040102010a020c01", lines,
	     ARRAY_LEN(lines));
}

static void spans_of_310(void **state UNUSED)
{
	static const struct line lines[] = {{0, 5},    {6, 6},	  {12, 5},   {18, 7},	{22, 9},
					    {24, 10},  {26, 9},	  {30, 212}, {34, 213}, {36, 214},
					    {46, 216}, {50, 217}, {54, 216}};

	same(LINES_SPANS, "0602060106ff04020202020104ff007f044c02010a010402040106ff", lines,
	     ARRAY_LEN(lines));
}

static void locations_from_311(void **state UNUSED)
{
	static const struct line at_311[] = {{0, 3},	{2, 5},	    {6, 6},    {34, 5},
					     {52, 7},	{56, 9},    {58, 10},  {60, 9},
					     {66, 212}, {70, 213},  {72, 214}, {102, 216},
					     {108, 0},	{110, 216}, {122, 217}};
	static const struct line at_313[] = {
		{0, 3},	    {2, 6},	{24, 5},  {32, 6},  {36, 5},   {44, 6},	   {48, 5},
		{52, 7},    {66, 9},	{68, 10}, {70, 9},  {76, 212}, {80, 213},  {82, 214},
		{104, 216}, {108, 217}, {112, 0}, {116, 5}, {122, 0},  {124, 216}, {130, 0}};

	same(LINES_LOCATIONS,
	     "8000f004010913f000010913dd090e887189188c18f003010913f100010913f4000109138041e00708f00"
	     "0"
	     "4d030511e00d0ed80d0ef103010e0f8801f056060010118808f00203050edd0809882189048c048804e00"
	     "c"
	     "0d88018801f8884188018805880588058805d80b0c8048",
	     at_311, ARRAY_LEN(at_311));
	same(LINES_LOCATIONS,
	     "8000f406000a0f88718c18f303010913d90911f0030010118a11d90911f003000506f000010913e60708e"
	     "0"
	     "0d0ed80d0ef103010e0f8801f056060010118808f00203050edc080988218c04e00c0d8801d80b0c8048f"
	     "9"
	     "f26906010913f8f06606000d0e8901fa",
	     at_313, ARRAY_LEN(at_313));
}

/* --- the interpreter's own table -------------------------------------------------- */

enum { WORDS = PY_TOLD / 8 };

static void put(uint64_t *words, uint64_t version)
{
	for (uint64_t i = 0; i < WORDS; i++)
		words[i] = 1000 + i; /* each offset is its own place */
	memcpy(words, "xdebugpy", 8);
	words[1] = version;
	words[2] = 0;
}

static void the_table_is_read_by_its_version(void **state UNUSED)
{
	uint64_t words[WORDS];
	struct py_layout l;

	put(words, 0x030d00f0);
	assert_true(layout_told((uint8_t *)words, sizeof(words), &l));
	assert_int_equal(l.version, 0x030d);
	assert_int_equal(l.interpreters, 1005);
	assert_int_equal(l.threads, 1009);
	assert_int_equal(l.frame, 1023);
	assert_int_equal(l.caller, 1029);
	assert_int_equal(l.code, 1030);
	assert_int_equal(l.instruction, 1031);
	assert_int_equal(l.owner, 1033);
	assert_int_equal(l.file, 1035);
	assert_int_equal(l.name, 1037);
	assert_int_equal(l.bytecode, 1043);
	assert_false(l.no_lines);
	assert_true(l.head == 16 && l.ascii == 40 && l.wide == 56);

	put(words, 0x030e02f0); /* has words more in between */
	assert_true(layout_told((uint8_t *)words, sizeof(words), &l));
	assert_int_equal(l.threads, 1009);
	assert_int_equal(l.frame, 1026);
	assert_int_equal(l.owner, 1036);
	assert_int_equal(l.file, 1040);
	assert_int_equal(l.bytecode, 1048);
}

static void junk_is_no_table(void **state UNUSED)
{
	uint64_t words[WORDS];
	struct py_layout l;

	put(words, 0x030d00f0);
	for (size_t n = 0; n < 44 * sizeof(*words); n++)
		assert_false(layout_told((uint8_t *)words, n, &l));
	words[23] = UINT64_MAX; /* an offset that none can be */
	assert_false(layout_told((uint8_t *)words, sizeof(words), &l));
	put(words, 0x030f0000); /* of a version that is not known */
	assert_false(layout_told((uint8_t *)words, sizeof(words), &l));
	put(words, 0x030d00f0);
	words[0]++;
	assert_false(layout_told((uint8_t *)words, sizeof(words), &l));
	assert_false(layout_known(0x0307, &l));
	assert_false(layout_known(0x030d, &l));
	assert_true(layout_known(0x030a, &l));
}

static void a_free_threaded_one_has_no_lines(void **state UNUSED)
{
	uint64_t words[WORDS];
	struct py_layout l;

	put(words, 0x030d00f0);
	words[2] = 1;
	assert_true(layout_told((uint8_t *)words, sizeof(words), &l));
	assert_true(l.no_lines);
	assert_int_equal(l.kind_bit, 8);
	assert_true(l.head == 32 && l.ascii == 56 && l.wide == 72);
}

/* --- files ------------------------------------------------------------------------ */

int main(void);
extern int a_symbol_of_ours;
int a_symbol_of_ours = 4711;

static void symbols_are_where_they_are(void **state UNUSED)
{
	struct symbol v[] = {
		{.name = "a_symbol_of_ours"}, {.name = "main"}, {.name = "_PyRuntime"}};

	symbols_find("/proc/self/exe", v, ARRAY_LEN(v));
	assert_true(v[0].is_there && v[1].is_there);
	assert_false(v[2].is_there);
	assert_int_equal((uint64_t)(uintptr_t)&a_symbol_of_ours - v[0].offset,
			 (uint64_t)(uintptr_t)&main - v[1].offset);
}

static void a_file_that_is_cut_has_none(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	char path[] = "/tmp/t_pystack.XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);
	struct err e = {0};
	char *all;
	size_t n;

	assert_true(fd >= 0);
	assert_int_equal(file_read("/proc/self/exe", 64 << 20, &a, &all, &n, &e), 0);
	for (size_t cut = 1; cut < n; cut += n / 97 + 1) {
		struct symbol v[] = {{.name = "a_symbol_of_ours"}};

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, all, cut, 0), cut);
		symbols_find(path, v, ARRAY_LEN(v));
		assert_false(v[0].is_there); /* the list of sections comes last */
	}
	(void)unlink(path);
	symbols_find("/nowhere", &(struct symbol){.name = "main"}, 1);
	symbols_find("/proc/self/maps", &(struct symbol){.name = "main"}, 1);
}

static void what_is_no_python_is_said(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct py_process p;
	struct err e = {0};

	assert_int_equal(py_open(getpid(), &a, &p, &e), -1);
	assert_int_equal(e.kind, ERR_ABSENT);
	assert_non_null(strstr(e.msg, "is no Python"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_to_39),
		cmocka_unit_test(spans_of_310),
		cmocka_unit_test(locations_from_311),
		cmocka_unit_test(the_table_is_read_by_its_version),
		cmocka_unit_test(junk_is_no_table),
		cmocka_unit_test(a_free_threaded_one_has_no_lines),
		cmocka_unit_test(symbols_are_where_they_are),
		cmocka_unit_test(a_file_that_is_cut_has_none),
		cmocka_unit_test(what_is_no_python_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
