/* The quick way through a log against the plain one: memmem() for every literal of
 * every signature, on every line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/file.h"
#include "probes/log/scan.h"
#include "probes/log/tested.h"
#include "probes/log/why.h"

/* Tells its tag by its place in @words. */
static struct scan *scan_of(struct arena *a, const char *const *words, size_t n)
{
	struct literal *v = arena_alloc(a, n * sizeof(*v));
	struct scan *s;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct literal){words[i], strlen(words[i]), (unsigned)i};
	s = scan_new(a, v, n, NULL);
	assert_non_null(s);
	return s;
}

static size_t count_plainly(const char *text, size_t n, const char *word)
{
	size_t len = strlen(word), k = 0;

	for (size_t i = 0; i + len <= n; i++)
		k += memcmp(text + i, word, len) == 0;
	return k;
}

/* On text that is full of near misses, gone through in pieces of @step; @again: with the tables
 * made anew after each. */
static void compare(struct scan *s, const char *const *words, size_t n, const char *text,
		    size_t size, size_t step, bool again)
{
	size_t got[8] = {0};
	struct scan_walk w;
	struct scan_hit hit;

	scan_begin(&w, s, text, size);
	for (size_t until = step; until < size + step; until += step) {
		while (scan_next(&w, until, &hit)) {
			assert_true(hit.at + strlen(words[hit.tag]) <= size);
			assert_memory_equal(text + hit.at, words[hit.tag], strlen(words[hit.tag]));
			got[hit.tag]++;
		}
		if (again)
			scan_leave_out(s, NULL);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], count_plainly(text, size, words[i]));
}

static void scan_equals_memmem(void **state UNUSED)
{
	static const char *const words[] = {"abcabcd", "bcabca", "cabcabc", "aaaaaa", "abcabc"};
	static const size_t steps[] = {1, 2, 3, 7, 61, 64, 2047, 2048, 2049, 1 << 20};
	AUTO(arena_done) struct arena a = {0};
	struct scan *s = scan_of(&a, words, ARRAY_LEN(words));
	enum { SIZE = 1 << 18 };
	char *text = arena_alloc(&a, SIZE);
	unsigned seed = 1;

	for (size_t i = 0; i < SIZE; i++) {
		seed = seed * 1103515245u + 12345u;
		text[i] = "abcdaaab"[seed >> 16 & 7];
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		assert_true(count_plainly(text, SIZE, words[i]) > 0);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		compare(s, words, ARRAY_LEN(words), text, SIZE, steps[i], steps[i] > 50);
	/* and near the ends of short ones, which nothing may be read beyond */
	for (size_t n = 0; n < 64; n++) {
		char *own = malloc(n ? n : 1);

		memcpy(own, text + SIZE - n, n);
		if (n > 6) /* a literal is cut off there */
			memcpy(own + n - 6, "abcabcd", 6);
		compare(s, words, ARRAY_LEN(words), own, n, 5, false);
		free(own);
	}
}

/* Each literal of the catalogue, wherever in a text it stands. */
static void no_place_is_missed(void **state UNUSED)
{
	enum { SIZE = 2 * 2 * SCAN_AHEAD + 77 };
	static char text[SIZE];

	for (size_t i = 0; i < signature_count; i++) {
		AUTO(arena_done) struct arena a = {0};
		size_t n = strcspn(signatures[i].anchors, "|");
		const char *const word = arena_strndup(&a, signatures[i].anchors, n);
		const struct scan *s = scan_of(&a, &word, 1);

		for (size_t at = i % 7; at + n <= SIZE;
		     at += at < 16 || SIZE - n - at < 16 ? 1 : 13) {
			struct scan_walk w;
			struct scan_hit hit;

			memset(text, '.', SIZE);
			memcpy(text + at, word, n);
			scan_begin(&w, s, text, SIZE);
			if (!scan_next(&w, SIZE, &hit) || hit.at != at)
				fail_msg("'%s' is not found at %zu", word, at);
			assert_false(scan_next(&w, SIZE, &hit));
		}
	}
}

/* What is left out, and let in again, in the middle of a text counts from there on. */
static void some_are_left_out(void **state UNUSED)
{
	static const char *const words[] = {"first of all", "second thought"};
	static const char line[] = "first of all, a second thought\n";
	enum { LINE = sizeof(line) - 1, LINES = 200 };
	AUTO(arena_done) struct arena a = {0};
	struct scan *s = scan_of(&a, words, ARRAY_LEN(words));
	char *text = arena_alloc(&a, LINES * LINE);
	struct scan_walk w;
	struct scan_hit hit;

	for (size_t i = 0; i < LINES; i++)
		memcpy(text + i * LINE, line, LINE);
	scan_begin(&w, s, text, LINES * LINE);
	for (size_t i = 0; i < LINES; i++) {
		bool out[] = {i % 3 != 1, i % 5 < 3};
		size_t got[] = {0, 0};

		scan_leave_out(s, out);
		while (scan_next(&w, (i + 1) * LINE, &hit)) {
			assert_int_equal(hit.at / LINE, i);
			got[hit.tag]++;
		}
		assert_int_equal(got[0], !out[0]);
		assert_int_equal(got[1], !out[1]);
	}
}

/* It is not found, and the others are. */
static void short_literals_are_left_out(void **state UNUSED)
{
	static const char *const words[] = {"abcde", "hijklm", ""};
	static const char text[] = "abcde abcde hijklm abcde";
	AUTO(arena_done) struct arena a = {0};
	struct scan *s = scan_of(&a, words, ARRAY_LEN(words));
	struct scan_hit hit;
	struct scan_walk w;

	assert_int_equal(scan_count(s), 1);
	scan_begin(&w, s, text, sizeof(text) - 1);
	assert_true(scan_next(&w, sizeof(text), &hit));
	assert_int_equal(hit.tag, 1);
	assert_int_equal(hit.at, 12);
	assert_false(scan_next(&w, sizeof(text), &hit));
	assert_int_equal(scan_count(scan_of(&a, words, 1)), 0);
}

/* Where the first of its literals stands in the line, or NULL. */
static const char *first_anchor(const struct signature *g, const char *line, size_t n)
{
	const char *first = NULL;

	for (const char *p = g->anchors; *p; p += *p == '|') {
		size_t len = strcspn(p, "|");
		const char *at = memmem(line, n, p, len);

		if (at && (!first || at < first))
			first = at;
		p += len;
	}
	return first;
}

/* Of two that match the line and say little. */
static bool goes_before(size_t a, const char *at, size_t b, const char *b_at)
{
	int more = signatures[a].weight - signatures[b].weight;

	return more > 0 || (!more && at < b_at);
}

/* Every signature is tried; of those that say little the surest counts, where no other does. */
static void fire_plainly(const struct signature_re *re, const char *line, size_t n, bool *fired)
{
	const char *nearest = NULL;
	size_t generic = signature_count;
	bool any = false;
	struct log_line l;

	line_parse(line, n, &l);
	for (size_t i = 0; !tested_well(&l) && i < signature_count; i++) {
		const char *at = first_anchor(&signatures[i], line, n);
		bool matches = at && signature_match(&signatures[i], &re[i], l.text, l.body);

		fired[i] = matches && signatures[i].tier != TIER_GENERIC;
		any |= fired[i];
		if (matches && !fired[i] && (!nearest || goes_before(i, at, generic, nearest))) {
			nearest = at;
			generic = i;
		}
	}
	if (!any && generic < signature_count)
		fired[generic] = true;
}

static size_t judge_line(const struct signature_re *re, const char *line, size_t n)
{
	bool *fired = calloc(signature_count, sizeof(*fired));
	AUTO(why_done) struct why w = {0};
	struct why_stream s;
	size_t all = 0;

	fire_plainly(re, line, n, fired);
	why_init(&w);
	why_open(&s, &w, "line");
	why_feed(&s, "\n\n\n\n", 4); /* no line that somebody pasted alone */
	why_feed(&s, line, n);
	why_close(&s);
	for (size_t i = 0; i < signature_count; i++) {
		if (w.records[i].count != fired[i])
			fail_msg("%s: %s by the quick way: %.*s", signatures[i].id,
				 fired[i] ? "lost" : "found", (int)n, line);
		all += fired[i];
	}
	free(fired);
	return all;
}

/* Of @path, from behind the last tab of each line: a line is what people would see. */
static size_t judge_lines(const struct signature_re *re, const char *path)
{
	enum { LONG = 1000 /* of such, both see only a part */ };
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	size_t size, all = 0;
	char *text;

	assert_int_equal(file_read(path, 1 << 20, &a, &text, &size, &e), 0);
	for (const char *p = text, *end = text + size; p < end;) {
		size_t n = strcspn(p, "\n");
		const char *tab = memrchr(p, '\t', n), *line = tab ? tab + 1 : p;
		size_t left = (size_t)(p + n - line);

		if (left < LONG && !memchr(line, '\r', left))
			all += judge_line(re, line, left);
		p += n + 1;
	}
	return all;
}

static void nothing_is_lost(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct signature_re *re = arena_alloc(&a, signature_count * sizeof(*re));
	size_t all = 0;

	for (size_t i = 0; i < signature_count; i++)
		assert_int_equal(signature_compile(&a, &signatures[i], &re[i]), 0);
	all += judge_lines(re, "tests/logs/lines.tsv");
	all += judge_lines(re, "tests/logs/cases.txt");
	assert_true(all > 1.5 * signature_count);
}

/* A line that is found between @filler, again and again, is found there, and where it stands. */
static void found_between(const char *filler, size_t n)
{
	static const char line[] = "\n[rank0]: NCCL WARN NET/Socket : no interface found\n";
	int sig = signature_find("IF-001");
	AUTO(why_done) struct why w = {0};
	struct why_stream s;

	assert_true(sig >= 0);
	why_init(&w);
	why_open(&s, &w, "bulk");
	why_feed(&s, "a log of bytes\n", strlen("a log of bytes\n"));
	for (int i = 0; i < 3; i++) {
		why_feed(&s, filler, n);
		why_feed(&s, line, sizeof(line) - 1);
	}
	why_close(&s);
	assert_int_equal(w.records[sig].count, 3);
	assert_int_equal(w.records[sig].nranks, 1);
	assert_int_equal(w.records[sig].ranks[0], 0);
	assert_int_equal(w.records[sig].events.v[2].line, 7);
	assert_int_equal(w.records[sig].events.n, 3);
}

static void bulk_hides_nothing(void **state UNUSED)
{
	enum { MOST = (1 << 20) + 1 };
	static const size_t sizes[] = {0, 1, 7, 8, 9, 2047, 2048, (1 << 18) - 1, 1 << 18, MOST};
	static const char fillers[] = {'\0', '7', 'x', ' ', '[', '\xff'};
	char *bulk = malloc(MOST);

	assert_non_null(bulk);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (size_t c = 0; c < sizeof(fillers); c++) {
			memset(bulk, fillers[c], MOST);
			found_between(bulk, sizes[i]);
		}
	free(bulk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scan_equals_memmem), cmocka_unit_test(no_place_is_missed),
		cmocka_unit_test(some_are_left_out),  cmocka_unit_test(short_literals_are_left_out),
		cmocka_unit_test(nothing_is_lost),    cmocka_unit_test(bulk_hides_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
