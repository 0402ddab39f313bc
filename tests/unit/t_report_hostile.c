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

static void put_pair(struct report *r, const char *from, const char *to, const char *state)
{
	cJSON *data = report_data(r), *list = cJSON_GetObjectItem(data, "pairs");
	cJSON *o = json_push_object(list ?: json_array(data, "pairs"));

	json_str(o, "from", from);
	json_str(o, "to", to);
	json_str(o, "state", state);
	json_num(o, "gbps", 8);
	json_num(o, state ? "ms" : "latency_us", 2);
}

static void fill(struct report *r, size_t n UNUSED)
{
	struct finding *f;

	put_pair(r, hostile, hostile, NULL);
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

static const char *rendered_of(const char *format, void (*filled)(struct report *r, size_t n),
			       size_t size, int want, struct arena *a)
{
	char path[] = "/tmp/t_report_hostile.XXXXXX", *text;
	int fd = mkstemp(path);
	struct report *r = open_report((struct report_opts){.format = format, .output = path});
	struct err e = {0};
	size_t n;

	assert_true(fd >= 0 && !close(fd));
	filled(r, size);
	assert_int_equal(report_end(r, &e), want);
	assert_int_equal(file_read(path, 1 << 20, a, &text, &n, &e), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(strlen(text), n);
	return text;
}

static const char *rendered(const char *format, struct arena *a)
{
	return rendered_of(format, fill, 0, 1, a);
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

/* One of ncclbench's, and the others as portcheck has them. */
static void fill_pairs(struct report *r, size_t n)
{
	struct finding *f = report_find(r, "a.b", "s");

	finding_set(f, ST_PASS, "fine");
	report_add(r, f);
	put_pair(r, "a\"b", "c\\", NULL);
	for (size_t i = 1; i < n; i++)
		put_pair(r, "n0", arena_printf(report_arena(r), "n%zu", i), "ok");
}

/* Findings of many hosts are kept apart, and all rows of a run kept, for those that read data. */
static void pairs_are_no_data(void **state UNUSED)
{
	static const struct {
		const char *format;
		bool data, few, many;
	} all[] = {{"json", true, true, true},
		   {"prometheus", false, true, false},
		   {"table", false, false, false}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct report *r = open_report((struct report_opts){.format = all[i].format});
		struct err nothing = {.kind = ERR_USAGE};

		assert_int_equal(report_wants_data(r), all[i].data);
		assert_int_equal(report_wants_pairs(r, 1024), all[i].few);
		assert_int_equal(report_wants_pairs(r, 1025), all[i].many);
		(void)report_end(r, &nothing);
	}
}

static void pairs_are_series(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const char *two = rendered_of("prometheus", fill_pairs, 2, 0, &a), *many;

	assert_non_null(strstr(two, ",from=\"a\\\"b\",to=\"c\\\\\"} 8000000000\n"));
	assert_non_null(strstr(two, ",from=\"a\\\"b\",to=\"c\\\\\"} 2e-06\n"));
	assert_non_null(strstr(two, ",from=\"n0\",to=\"n1\"} 1000000000\n"));
	assert_non_null(strstr(two, ",from=\"n0\",to=\"n1\"} 0.002\n"));
	many = rendered_of("prometheus", fill_pairs, 1024, 0, &a);
	assert_int_equal(lines_with(many, "windsock_pair_"), 2 * 1024);
	many = rendered_of("prometheus", fill_pairs, 1025, 0, &a);
	assert_int_equal(lines_with(many, "windsock_pair_"), 0);
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
		cmocka_unit_test(no_terminal_obeys),	      cmocka_unit_test(no_line_is_theirs),
		cmocka_unit_test(pairs_are_no_data),	      cmocka_unit_test(pairs_are_series),
		cmocka_unit_test(json_keeps_every_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
