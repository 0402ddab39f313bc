/* The page: text that HTML would take for its own, and the envelope inside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/report/json.h"
#include "probes/html/parts.h"

#include <cmocka.h>

static cJSON *parse(const char *text)
{
	struct err e = {0};
	cJSON *doc = json_parse(text, strlen(text), 32, &e);

	assert_non_null(doc);
	return doc;
}

static void t_escape(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct text t;

	(void)state;
	text_init(&t, &a);
	html_text(&t, "a<b>&\"c'");
	html_text(&t, NULL);
	html_text(&t, "");
	assert_string_equal(t.s, "a&#60;b&#62;&#38;&#34;c&#39;");
}

static void t_envelope_is_inside(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc =
		parse("{\"schema\":1,\"command\":\"windsock\",\"host\":\"h\",\"verdict\":\"pass\","
		      "\"findings\":[{\"check\":\"a.b\",\"status\":\"pass\",\"host\":\"h\","
		      "\"message\":\"</script><!-- <script>\"}],\"data\":{},\"nodes\":[]}");
	struct err e = {0};
	struct text page;
	const char *json;
	cJSON *again;
	size_t n = 0;

	(void)state;
	html_page(doc, &a, &page);
	json = html_envelope(page.s, page.n, &n);
	assert_non_null(json);
	again = json_parse(json, n, 32, &e);
	assert_non_null(again);
	assert_true(cJSON_Compare(doc, again, true));
	assert_null(html_envelope("{}", 2, &n));
	assert_null(html_envelope(page.s, (size_t)(json - page.s) + 10, &n)); /* cut off */
	cJSON_Delete(again);
	cJSON_Delete(doc);
}

/* Whatever an envelope from elsewhere holds, a page comes of it. */
static void t_odd_documents(void **state)
{
	static const char *const docs[] = {
		"{}",
		"[]",
		"7",
		"{\"findings\":7,\"nodes\":\"x\",\"data\":[]}",
		"{\"findings\":[7,{},[],{\"check\":7,\"fix\":{}}],\"nodes\":[7,{}],"
		"\"data\":{\"causes\":[7,{}],\"failing_nodes\":[7]}}",
		"{\"data\":{\"parts\":{\"reach\":{\"matrix\":{\"hosts\":[\"a\",7],"
		"\"cells\":[[\"ok\",\"ok\",\"ok\"],7,[],[\"x\"]]},\"targets\":[{\"from\":\"a\","
		"\"to\":\"b\","
		"\"ms\":1},7,{\"from\":\"a\",\"to\":\"a\",\"ms\":-1}]}}}}",
		"{\"data\":{\"parts\":{\"collectives\":{\"results\":[{},{\"size\":0,\"busbw\":-1},"
		"7,"
		"{\"coll\":\"c\",\"size\":8,\"busbw\":1e308,\"time_us\":1e-300}]},"
		"\"training\":{\"epochs\":[{},7,{\"epoch\":0,\"loss\":1}]}}}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
		AUTO(arena_done) struct arena a = {0};
		cJSON *doc = parse(docs[i]);
		struct text page;

		html_page(doc, &a, &page);
		assert_non_null(strstr(page.s, "</html>"));
		assert_null(strstr(page.s, "nan"));
		assert_null(strstr(page.s, "inf\""));
		cJSON_Delete(doc);
	}
}

static void t_fold(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc =
		parse("{\"findings\":["
		      "{\"check\":\"b\",\"status\":\"pass\",\"host\":\"n1\",\"subject\":\"n1\","
		      "\"message\":\"m\"},"
		      "{\"check\":\"a\",\"status\":\"pass\",\"host\":\"n1\",\"message\":\"m\"},"
		      "{\"check\":\"b\",\"status\":\"pass\",\"host\":\"n2\",\"subject\":\"n2\","
		      "\"message\":\"m\"},"
		      "{\"check\":\"b\",\"status\":\"fail\",\"host\":\"n3\",\"message\":\"m\"}]}");
	html_rows rows = {0};

	(void)state;
	html_fold(doc, &a, &rows);
	assert_int_equal(rows.n, 3);
	assert_string_equal(json_get_str(rows.v[0].f, "check"), "b"); /* as they first came */
	assert_int_equal(rows.v[0].hosts.n, 2);
	assert_string_equal(rows.v[0].hosts.v[1].name, "n2");
	assert_string_equal(json_get_str(rows.v[1].f, "check"), "a");
	assert_int_equal(rows.v[2].hosts.n, 1);
	cJSON_Delete(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_escape),
		cmocka_unit_test(t_envelope_is_inside),
		cmocka_unit_test(t_odd_documents),
		cmocka_unit_test(t_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
