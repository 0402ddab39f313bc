/*
 * What others call their hosts and write into their logs, in every format: nothing that a terminal
 * obeys, no line of theirs that a CI system would take for ours, and nothing lost in JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/file.h"
#include "lib/core/term.h"
#include "lib/core/utf8.h"
#include "lib/report/json.h"
#include "tests/unit/report_sample.h"

/* An escape sequence, CR, line ends with commands, DEL, a C1 control, marks of direction, of lines
 * and of nothing (one beyond 16 bits), broken UTF-8, entities, and what each format quotes by. */
static const char hostile[] =
	"a\033[31m\r::error::x\n::set-output name=a::b\n##[error]c\nnot ok 9 - d\n# e\n...\n\x7f"
	"\xc2\x9b"
	"31m\xe2\x80\xae\xe2\x80\xa8\xef\xbb\xbf\xf3\xa0\x81\x81\xff</"
	"testsuite>]]>&amp;\"'\\%0A,:{}";

static void fill(struct report *r)
{
	struct finding *f;

	for (enum status st = 0; st < ST_COUNT; st++) {
		f = report_find(r, "a.b", hostile);
		f->host = hostile;
		finding_set(f, st, "%s", hostile);
		finding_value(f, 1, hostile);
		finding_expect(f, "%s", hostile);
		finding_fix(f, "%s", hostile);
		finding_fix(f, "echo %s", hostile);
		report_add(r, f);
	}
	report_heading(r, "%s", hostile);
	report_remark(r, "%s", hostile);
	report_series(r, &view);
	report_row(r,
		   (struct cell[]){{.text = hostile}, {.text = hostile}, {0}, {.number = 1}, {0}});
	report_covers(r, "%s", hostile);
}

static const char *rendered(const char *format, struct arena *a)
{
	char path[] = "/tmp/t_report_hostile.XXXXXX", *text;
	int fd = mkstemp(path);
	struct report *r = open_report((struct report_opts){.format = format, .output = path});
	struct err e = {0};
	size_t n;

	assert_true(fd >= 0 && !close(fd));
	fill(r);
	assert_int_equal(report_end(r, &e), 1);
	assert_int_equal(file_read(path, 1 << 20, a, &text, &n, &e), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(strlen(text), n);
	return text;
}

static void no_terminal_obeys(void **state UNUSED)
{
	for (size_t i = 0; renderer_names[i]; i++) {
		AUTO(arena_done) struct arena a = {0};
		uint32_t c;

		for (const char *s = rendered(renderer_names[i], &a); *s;) {
			s += utf8_next(s, 4, &c);
			if (c != '\n' && !term_prints(c))
				fail_msg("%s: U+%04X", renderer_names[i], c);
		}
	}
}

static size_t lines_with(const char *text, const char *start)
{
	size_t n = 0;

	for (const char *s = text; *s; s += strcspn(s, "\n"), s += *s == '\n')
		n += starts_with(s, start);
	return n;
}

static void no_line_is_theirs(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const char *github = rendered("github", &a), *tap = rendered("tap", &a);
	const char *prometheus = rendered("prometheus", &a);
	const char *markdown = rendered("markdown", &a);

	assert_int_equal(lines_with(github, "::"), 4); /* info, warn, fail, error */
	assert_int_equal(lines_with(github, ""), 5);   /* and the verdict */
	assert_int_equal(lines_with(tap, "not ok ") + lines_with(tap, "ok "), ST_COUNT);
	assert_int_equal(lines_with(tap, "  ..."), ST_COUNT);
	assert_int_equal(lines_with(markdown, "| :"), ST_COUNT);
	assert_int_equal(lines_with(markdown, "## "), 1);
	assert_int_equal(lines_with(markdown, "```"), 2);
	assert_int_equal(lines_with(prometheus, ""), lines_with(prometheus, "windsock_") +
							     lines_with(prometheus, "# HELP ") +
							     lines_with(prometheus, "# TYPE "));
}

static void json_keeps_every_character(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const char *text = rendered("json", &a);
	struct err e = {0};
	cJSON *doc = json_parse(text, strlen(text), 64, &e), *f;

	assert_non_null(doc);
	cJSON_ArrayForEach (f, json_get(doc, "findings"))
		assert_string_equal(json_get_str(f, "message"), utf8_mend(&a, hostile));
	cJSON_Delete(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_terminal_obeys),
		cmocka_unit_test(no_line_is_theirs),
		cmocka_unit_test(json_keeps_every_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
