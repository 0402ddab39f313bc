/* json.[ch], utf8.[ch] and merge.[ch]: what comes from elsewhere, mended, bounded, refused. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>

#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "tests/unit/take_findings.h"

#include <cmocka.h>
#include <math.h>

static char *printed(const cJSON *v)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	json_print(f, v);
	(void)fclose(f);
	return text;
}

static void mends_utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"eth0", "eth0"},
		{"", ""},
		{"caf\xc3\xa9", "caf\xc3\xa9"},
		{"\xff", "\xef\xbf\xbd"},
		{"a\x80z", "a\xef\xbf\xbdz"},
		{"\xc3", "\xef\xbf\xbd"},		  /* cut off */
		{"\xe2\x82z", "\xef\xbf\xbdz"},		  /* one for the beginning */
		{"\xf0\x9f\x98", "\xef\xbf\xbd"},	  /* likewise */
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"}, /* longer than needed */
		{"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf0\x9f\x98\x80!", "\xf0\x9f\x98\x80!"},
	};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(utf8_mend(&a, cases[i].in), cases[i].out);
}

static void prints_numbers_for_people(void **state)
{
	static const struct {
		double v;
		const char *out;
	} cases[] = {
		{0, "0"},
		{-0.0, "0"},
		{1500, "1500"},
		{1e15, "1000000000000000"},
		{0.1, "0.1"},
		{0.1 + 0.2, "0.30000000000000004"},
		{-3, "-3"},
		{9007199254740993.0, "9007199254740992"},
		{1e300, "1e+300"},
		{NAN, "null"},
		{0.012345, "0.012345"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cJSON *v = cJSON_CreateNumber(cases[i].v);
		char *text = printed(v);

		assert_string_equal(text, cases[i].out);
		free(text);
		cJSON_Delete(v);
	}
}

static void prints_trees(void **state)
{
	cJSON *root = cJSON_CreateObject(), *rows = json_array(root, "rows"), *list;
	char *text;

	(void)state;
	json_str(root, "name", "a\"\\\n\x01\x7f\xff");
	json_str(root, "absent", NULL);
	json_num(root, "unknown", NAN);
	json_num(root, "endless", INFINITY);
	json_bool(root, "yes", true);
	for (int i = 0; i < 2; i++)
		cJSON_AddItemToArray(rows, cJSON_CreateIntArray((int[]){8, i}, 2));
	list = json_array(root, "long");
	for (int i = 0; i < 40; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(1000 + i));
	json_object(root, "empty\xfe");
	text = printed(root);
	assert_non_null(strstr(text, "{\n  \"rows\": [\n    [8, 0],\n    [8, 1]\n  ],\n"));
	assert_non_null(strstr(text, "\"a\\\"\\\\\\n\\u0001\\u007f\xef\xbf\xbd\""));
	assert_non_null(strstr(text, "1038, 1039],\n")); /* plain values: one line, however long */
	assert_non_null(strstr(text, "\"empty\xef\xbf\xbd\": {}\n}"));
	assert_null(strstr(text, "absent"));
	assert_null(strstr(text, "unknown"));
	assert_null(strstr(text, "endless"));
	free(text);
	cJSON_Delete(root);
}

static void parses_within_bounds(void **state)
{
	static const struct {
		const char *text;
		bool fine;
	} cases[] = {
		{"{}", true},
		{" [1, [2]] \n", true},
		{"7", true},
		{"", false},
		{"{} x", false},
		{"{\"a\":1", false},
		{"[[[[1]]]]", false},
		{"[[[1]]]", true},
		{"{\"a\":\"]]}[[[[[[\"}", true},
		{"{\"a\":\"\\\"[[[[\"}", true},
		/* what the parser itself takes for blank */
		{"\x01[[[[1]]]]", false},
		{" \v\f[[[[1]]]]", false},
		{"\xef\xbb\xbf[[[[1]]]]", false},
		{"\xef\xbb\xbf\n[[[1]]]", true},
		{"]", false},
		{"nonsense", false},
		{"{\"a\":\"\xff\"}", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = {0};
		cJSON *v = json_parse(cases[i].text, strlen(cases[i].text), 3, &e);

		if ((v != NULL) != cases[i].fine)
			fail_msg("%s: %s", cases[i].text, e.msg);
		assert_int_equal(e.kind, cases[i].fine ? ERR_NONE : ERR_SYS);
		cJSON_Delete(v);
	}
	assert_null(json_parse("{}\0{", 4, 8, &(struct err){0})); /* nothing after it */
	assert_int_equal(json_span("{\"a\":[1]} junk", 14, 8), 9);
	assert_int_equal(json_span("{\"a\":[1]", 8, 8), 0);
	assert_int_equal(json_span("x{}", 3, 8), 0);
}

static bool count_to_two(void *arg, const cJSON *doc)
{
	(void)doc;
	return ++*(int *)arg < 2;
}

static void several_documents(void **state)
{
	static const struct {
		const char *text;
		int rc, seen;
	} rows[] = {{"", 0, 0},	      {" \n", 0, 0},	  {"{}", 0, 1},	    {"{}\n[1]", 0, 2},
		    {"{}{}{}", 0, 2}, {"{} junk", -1, 1}, {"{}\n[", -1, 1}, {"junk", -1, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = {0};
		size_t n;
		int seen = 0;

		assert_int_equal(json_each(rows[i].text, strlen(rows[i].text), 8, count_to_two,
					   &seen, &n, &e),
				 rows[i].rc);
		assert_int_equal(seen, rows[i].seen);
		assert_int_equal(n, rows[i].seen);
	}
}

#define HEAD "{\"windsock\":\"0.1.0\",\"schema\":1,\"command\":\"ifprobe\","
#define FINDING                                                                                    \
	"{\"check\":\"a.b\",\"status\":\"fail\",\"subject\":\"eth0\",\"host\":\"liar\",\"rank\":"  \
	"3,"                                                                                       \
	"\"message\":\"m\",\"fix\":[\"do\",7,\"\"],\"value\":2.5,\"unit\":\"ms\",\"expected\":"    \
	"\"1\"}"

static void another_hosts_envelope(void **state)
{
	static const struct {
		const char *text;
		size_t fails, errors;
		const char *refused; /* NULL: read */
	} cases[] = {
		{HEAD "\"findings\":[" FINDING "],\"data\":{\"x\":1}}", 1, 0, NULL},
		{"Welcome {friend}!\n\x1b[1mmotd\n" HEAD "\"findings\":[]}\nbye {\n", 0, 0, NULL},
		{"{\n  \"windsock\": \"9.9.9\", \"schema\": 1, \"command\": \"ifprobe\"}", 0, 0,
		 NULL},
		{"it says \"windsock\" {\"windsock\" " HEAD "\"findings\":[" FINDING "]}", 1, 0,
		 NULL},
		{HEAD
		 "\"findings\":[{\"check\":\"a\",\"status\":\"odd\"},{\"check\":\"A B\"},3,{}]}",
		 0, 1, NULL},
		{HEAD "\"findings\":7,\"data\":[1]}", 0, 0, NULL},
		{"bash: ifprobe: command not found\n", 0, 0, "command not found"},
		{" \n", 0, 0, "answered nothing"},
		{HEAD "\"findings\":[", 0, 0, "not a report"},
		{"{\"windsock\":\"2.0.0\",\"schema\":2,\"command\":\"ifprobe\"}", 0, 0,
		 "windsock 2.0.0"},
		/* a login's own JSON */
		{"{\"windsock\":\"is here\"}\n" HEAD "\"findings\":[]}\n", 0, 0, NULL},
		{"{\"windsock\":\"0.1.0\",\"schema\":1,\"command\":\"portcheck\"}", 0, 0,
		 "portcheck"},
		{"\x1b[2Jevil", 0, 0, "\"?[2Jevil\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct report_opts o = {.command = "ifprobe", .format = "json", .host = "me"};
		struct err e = {0}, usage = {.kind = ERR_USAGE};
		struct report *r = report_new(&o, &e);
		cJSON *doc =
			envelope_read("node1", "ifprobe", cases[i].text, strlen(cases[i].text), &e);

		take_findings(r, doc);
		assert_int_equal(doc == NULL, cases[i].refused != NULL);
		if (cases[i].refused && !strstr(e.msg, cases[i].refused))
			fail_msg("\"%s\" does not say \"%s\"", e.msg, cases[i].refused);
		assert_int_equal(report_count(r, ST_FAIL), cases[i].fails);
		assert_int_equal(report_count(r, ST_ERROR), cases[i].errors);
		if (i == 0)
			assert_true(json_get_num(json_get(doc, "data"), "x", 0) == 1);
		cJSON_Delete(doc);			    /* the report has copies */
		assert_int_equal(report_end(r, &usage), 2); /* nothing on stdout */
	}
}

static void a_text_outlives_its_document(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	cJSON *o = json_parse("{\"x\":\"y\",\"n\":7,\"e\":\"\"}", 22, 3, &e);
	const char *x = json_copy(&a, o, "x"), *empty = json_copy(&a, o, "e");

	assert_non_null(o);
	assert_null(json_copy(&a, o, "n"));
	assert_null(json_copy(&a, o, "z"));
	assert_null(json_copy(&a, NULL, "x"));
	cJSON_Delete(o);
	assert_string_equal(x, "y");
	assert_string_equal(empty, "");
}

/* What another host says is no reason for a conversion that C leaves undefined. */
static void whole_numbers_fit_or_are_not_there(void **state)
{
	static const struct {
		const char *json;
		int as_int;
		uint64_t as_count;
	} cases[] = {
		{"{\"x\":0}", 0, 0},
		{"{\"x\":7}", 7, 7},
		{"{\"x\":-7}", -7, 42},
		{"{\"x\":2147483647}", INT_MAX, INT_MAX},
		{"{\"x\":-2147483648}", INT_MIN, 42},
		{"{\"x\":2147483648}", -1, 2147483648},
		{"{\"x\":-2147483649}", -1, 42},
		{"{\"x\":9007199254740992}", -1, 9007199254740992},
		{"{\"x\":18446744073709549568}", -1, 18446744073709549568u},
		{"{\"x\":18446744073709551616}", -1, 42},
		{"{\"x\":1e300}", -1, 42},
		{"{\"x\":-1e300}", -1, 42},
		{"{\"x\":0.5}", -1, 42},
		{"{\"x\":\"7\"}", -1, 42},
		{"{\"x\":null}", -1, 42},
		{"{}", -1, 42},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = {0};
		cJSON *o = json_parse(cases[i].json, strlen(cases[i].json), 4, &e);

		if (json_get_int(o, "x", -1) != cases[i].as_int ||
		    json_get_count(o, "x", 42) != cases[i].as_count)
			fail_msg("%s: %d, %llu", cases[i].json, json_get_int(o, "x", -1),
				 (unsigned long long)json_get_count(o, "x", 42));
		cJSON_Delete(o);
	}
}

static void refuses_what_is_too_big_or_deep(void **state)
{
	size_t n = (16 << 20) + 1;
	char *big = malloc(n);
	struct err e = {0};

	(void)state;
	memset(big, '[', n);
	assert_null(envelope_read("n", "ifprobe", big, n, &e));
	assert_non_null(strstr(e.msg, "MiB"));
	memcpy(big, HEAD "\"data\":", sizeof(HEAD) + 6);
	assert_null(envelope_read("n", "ifprobe", big, n - 1, &e));
	assert_non_null(strstr(e.msg, "not a report"));
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mends_utf8),
		cmocka_unit_test(prints_numbers_for_people),
		cmocka_unit_test(prints_trees),
		cmocka_unit_test(parses_within_bounds),
		cmocka_unit_test(a_text_outlives_its_document),
		cmocka_unit_test(whole_numbers_fit_or_are_not_there),
		cmocka_unit_test(several_documents),
		cmocka_unit_test(another_hosts_envelope),
		cmocka_unit_test(refuses_what_is_too_big_or_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
