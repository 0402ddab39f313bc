/* The page: text that HTML would take for its own, and the envelope inside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/core/file.h"
#include "lib/report/json.h"
#include "lib/report/report.h"
#include "probes/html/parts.h"

#include <math.h>

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
	text_markup(&t, "a<b>&\"c'");
	text_markup(&t, NULL);
	text_markup(&t, "");
	assert_string_equal(t.s, "a&#60;b&#62;&#38;&#34;c&#39;");
}

/* A document that ranks no causes itself: what failed comes first, and of that what most have. */
static void t_causes_are_ranked(void **state)
{
	static const char *const order[] = {"say f2", "say f1", "say e1", "say w1"};
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc = parse(
		"{\"schema\":1,\"command\":\"ifprobe\",\"host\":\"h\",\"verdict\":\"fail\","
		"\"findings\":["
		"{\"check\":\"w\",\"status\":\"warn\",\"host\":\"h\",\"message\":\"say w1\"},"
		"{\"check\":\"e\",\"status\":\"error\",\"host\":\"h\",\"message\":\"say e1\"},"
		"{\"check\":\"f\",\"status\":\"fail\",\"host\":\"h\",\"message\":\"say f1\"},"
		"{\"check\":\"f\",\"status\":\"fail\",\"host\":\"h\",\"message\":\"say f2\"},"
		"{\"check\":\"f\",\"status\":\"fail\",\"host\":\"i\",\"message\":\"say f2\"}],"
		"\"data\":{},\"nodes\":[]}");
	html_rows rows = {0};
	const char *at;
	struct text t;

	(void)state;
	text_init(&t, &a);
	html_fold(doc, &a, &rows);
	html_causes(doc, &rows, &a, &t);
	at = t.s;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		at = strstr(at, order[i]);
		assert_non_null(at);
	}
	cJSON_Delete(doc);
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

/* What is no size is told as the number that it is. */
static void t_no_size(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc = parse("{\"schema\":1,\"command\":\"windsock\",\"host\":\"h\",\"verdict\":"
			   "\"pass\",\"findings\":[],\"data\":{},\"nodes\":[{\"host\":\"h\","
			   "\"data\":{\"facts\":{\"memory\":-1,\"shm\":1e300}}}]}");
	struct text page;

	html_page(doc, &a, &page);
	assert_non_null(strstr(page.s, ">-1<"));
	assert_non_null(strstr(page.s, ">1e+300<"));
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
		"{\"command\":\"ncclbench\",\"data\":{\"world\":{\"ranks\":[7,{},{\"host\":7},"
		"{\"host\":\"a\"}]},\"pairs\":[7,{},{\"from\":\"a\"},{\"from\":\"a\",\"to\":\"a\"},"
		"{\"from\":\"a\",\"to\":\"b\",\"gbps\":-1,\"latency_us\":0,\"lost\":9},"
		"{\"from\":\"b\",\"to\":\"a\",\"gbps\":1e308,\"latency_us\":1e-300,\"lost\":-1},"
		"{\"from\":\"c\",\"to\":\"a\",\"gbps\":\"x\"}]},"
		"\"findings\":[{\"status\":\"fail\",\"subject\":\" -> \"},{\"subject\":\"a -> "
		"b\"}]}",
		"{\"command\":\"ncclbench\",\"data\":{\"world\":{\"ranks\":7},\"pairs\":{}}}",
		"{\"data\":{\"parts\":{\"collectives\":{\"results\":[{},{\"size\":0,\"busbw\":-1},"
		"7,"
		"{\"coll\":\"c\",\"size\":8,\"busbw\":1e308,\"time_us\":1e-300}]},"
		"\"training\":{\"epochs\":[{},7,{\"epoch\":0,\"loss\":1}]}}}}",
		"{\"verdict\":\"\\\"><b evil>\",\"findings\":[{\"status\":\"\\\"><b evil>\"}],"
		"\"nodes\":[{\"host\":\"a\",\"data\":{\"stages\":[{\"name\":\"<b evil>\","
		"\"status\":\"\\\"><b evil>\"}]}}]}",
		/* numbers that a step does not change, and that no size has */
		"{\"data\":{\"parts\":{\"training\":{\"epochs\":[{\"epoch\":1e18,\"loss\":1},"
		"{\"epoch\":1000000000000000128,\"loss\":1}]},\"collectives\":{\"results\":["
		"{\"coll\":\"c\",\"size\":1.7e308,\"busbw\":1}]}}}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
		AUTO(arena_done) struct arena a = {0};
		cJSON *doc = parse(docs[i]);
		struct text page;

		html_page(doc, &a, &page);
		assert_non_null(strstr(page.s, "</html>"));
		assert_null(strstr(page.s, "nan"));
		assert_null(strstr(page.s, "<b evil"));
		assert_null(strstr(page.s, "inf\""));
		cJSON_Delete(doc);
	}
}

/* A host's own command is told as that, never as what mends them all. */
static void t_own_commands(void **state)
{
	static const char finding[] =
		"%s{\"check\":\"c\",\"status\":\"fail\",\"host\":\"n%d\",\"message\":\"pid %d\","
		"\"fix\":[\"kill %d\",\"same\"]}";
	AUTO(arena_done) struct arena a = {0};
	struct text json, page;
	cJSON *doc;

	(void)state;
	text_init(&json, &a);
	text_add(&json, "{\"findings\":[");
	for (int i = 0; i < 9; i++)
		text_addf(&json, finding, i ? "," : "", 2 * i, i, i);
	text_add(&json, "]}");
	doc = parse(json.s);
	html_page(doc, &a, &page);
	assert_non_null(strstr(page.s, "<b>n[0,2,4,6,8,10,12,14,16]</b> pid 0 to 8"));
	assert_non_null(strstr(page.s, "<pre>kill 0   # on n0, the others alike</pre>"));
	cJSON_Delete(doc);
	doc = parse("{\"findings\":["
		    "{\"check\":\"c\",\"status\":\"fail\",\"host\":\"n1\",\"message\":\"m\","
		    "\"fix\":[\"ls x\",\"reset it & them\"],\"as_words\":[1]},"
		    "{\"check\":\"c\",\"status\":\"fail\",\"host\":\"n2\",\"message\":\"m\","
		    "\"fix\":[\"ls x\",\"reset it & them\"],\"as_words\":[1]}]}");
	html_page(doc, &a, &page);
	assert_non_null(strstr(page.s, "<b>n[1-2]</b> m"));
	assert_non_null(strstr(page.s, "<div class=\"fix\"><pre>ls x</pre><button "));
	assert_non_null(strstr(page.s, "</div>\n<p>reset it &#38; them</p>\n</li>"));
	cJSON_Delete(doc);
	/* the same text, words for one and a command for the other */
	doc = parse("{\"findings\":["
		    "{\"check\":\"c\",\"status\":\"fail\",\"host\":\"n1\",\"message\":\"m\","
		    "\"fix\":[\"reset\"],\"as_words\":[0]},"
		    "{\"check\":\"c\",\"status\":\"fail\",\"host\":\"n2\",\"message\":\"m\","
		    "\"fix\":[\"reset\"]}]}");
	html_page(doc, &a, &page);
	assert_non_null(strstr(page.s, "<p>reset (on n1, the others alike)</p>"));
	cJSON_Delete(doc);
}

/* Cut off is whom no port answers; where some do, it is said of the pairs. */
static void t_cut_off(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc = parse("{\"data\":{\"parts\":{\"reach\":{\"matrix\":{\"hosts\":"
			   "[\"n0\",\"n1\",\"n2\"],\"cells\":[[\"self\",\"partial\",\"partial\"],"
			   "[\"ok\",\"self\",\"ok\"],[\"none\",\"none\",\"self\"]]}}}}}");
	struct text page;

	(void)state;
	html_page(doc, &a, &page);
	assert_false(strstr(page.s, "n0 reaches no") || strstr(page.s, "No other host reaches"));
	assert_non_null(strstr(page.s, "<li>n0 to n[1-2]: some ports do not</li>"));
	assert_non_null(strstr(page.s, "<li>n2 reaches no other host</li>"));
	cJSON_Delete(doc);
}

/* What is not wrong is not among the causes: its advice stands where it is told. */
static void t_advice_on_remarks(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc = parse("{\"findings\":["
			   "{\"check\":\"c\",\"status\":\"warn\",\"host\":\"n1\",\"message\":\"m\","
			   "\"fix\":[\"mend it\"]},"
			   "{\"check\":\"i\",\"status\":\"info\",\"host\":\"n1\",\"message\":\"m\","
			   "\"fix\":[\"better so\"]}]}");
	const char *fix;
	struct text page;

	html_page(doc, &a, &page);
	fix = strstr(page.s, "<pre>mend it</pre>");
	assert_non_null(fix);
	assert_null(strstr(fix + 1, "<pre>mend it</pre>"));
	assert_non_null(strstr(page.s, "<td>m<div class=\"fix\"><pre>better so</pre>"));
	cJSON_Delete(doc);
}

/* The worst host stands first, and where the reason is none of its own stages it is said. */
static void t_hosts_by_how_bad(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc = parse(
		"{\"findings\":[{\"check\":\"w\",\"status\":\"warn\",\"host\":\"n1\","
		"\"message\":\"m\"},{\"check\":\"mesh.in\",\"status\":\"fail\",\"subject\":\"n2\","
		"\"host\":\"n0\",\"message\":\"n2 is <not> reached\"}],"
		"\"data\":{\"passing_nodes\":[\"n0\",\"n1\"],\"failing_nodes\":[\"n2\"],"
		"\"causes\":[{\"stage\":\"reach\",\"check\":\"mesh.in\",\"status\":\"fail\","
		"\"subject\":\"n2\",\"message\":\"n2 is <not> reached\",\"hosts\":[]}]},\"nodes\":["
		"{\"host\":\"n0\",\"data\":{\"stages\":[{\"name\":\"ports\",\"status\":\"pass\"}]}}"
		","
		"{\"host\":\"n1\",\"data\":{\"stages\":[{\"name\":\"ports\",\"status\":\"warn\"}]}}"
		","
		"{\"host\":\"n2\",\"data\":{\"stages\":[{\"name\":\"ports\",\"status\":\"pass\"}]}}"
		"]}");
	const char *at[3];
	struct text page;

	html_page(doc, &a, &page);
	at[0] = strstr(page.s, "<tr data-status=\"fail\"><th scope=\"row\">n2</th>");
	at[1] = strstr(page.s, "<tr data-status=\"warn\"><th scope=\"row\">n1</th>");
	at[2] = strstr(page.s, "<tr data-status=\"pass\"><th scope=\"row\">n0</th>");
	assert_true(at[0] && at[0] < at[1] && at[1] < at[2]);
	at[1] = strstr(at[0], "reach: n2 is &#60;not&#62; reached");
	assert_true(at[1] && at[1] < strstr(at[0], "</tr>"));
	cJSON_Delete(doc);
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
	rows = (html_rows){0};
	/* who began the run tells what is between others, and how it reaches them itself */
	doc = parse(
		"{\"host\":\"n0\",\"nodes\":[{\"host\":\"n0\"},{\"host\":\"n1\"},"
		"{\"host\":\"n3\"}],\"findings\":["
		"{\"check\":\"mesh.in\",\"host\":\"n0\",\"subject\":\"n[1,3]\",\"message\":\"m\"},"
		"{\"check\":\"pair.x\",\"host\":\"n0\",\"subject\":\"n1 -> n3\",\"message\":\"m\"},"
		"{\"check\":\"peer.reach\",\"host\":\"n0\",\"subject\":\"n1\",\"message\":\"m\"},"
		"{\"check\":\"x\",\"host\":\"n0\",\"subject\":\"eth0\",\"message\":\"m\"},"
		"{\"check\":\"y\",\"host\":\"n1\",\"subject\":\"n3\",\"message\":\"m\"}]}");
	html_fold(doc, &a, &rows);
	assert_int_equal(rows.n, 5);
	for (size_t i = 0; i < rows.n; i++)
		assert_int_equal(rows.v[i].hosts.n, i >= 2);
	cJSON_Delete(doc);
	rows = (html_rows){0};
	doc = parse("{\"findings\":[" /* n10 and n2 say it in two stages; the first is shown */
		    "{\"check\":\"b\",\"host\":\"n10\",\"message\":\"m\",\"value\":1},"
		    "{\"check\":\"b\",\"host\":\"n2\",\"message\":\"m\"},"
		    "{\"check\":\"b\",\"host\":\"n10\",\"message\":\"m\"},"
		    "{\"check\":\"b\",\"host\":\"n2\",\"message\":\"m\"}]}");
	html_fold(doc, &a, &rows);
	assert_int_equal(rows.n, 1);
	assert_int_equal(rows.v[0].hosts.n, 2);
	assert_string_equal(rows.v[0].hosts.v[0].name, "n2");
	assert_string_equal(rows.v[0].hosts.v[1].name, "n10");
	assert_int_equal((int)json_get_num(rows.v[0].f, "value", 0), 1);
	cJSON_Delete(doc);
}

static void t_heat(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	double v[] = {NAN, 8, 4, 0, NAN, 1, -1, 0.001, NAN};
	double lost[] = {NAN, 0, 1e-4, 2e-3, 1, NAN, 1e-3, -1, 0.02};
	unsigned char squares[9];
	const struct html_scale rates = {"GB/s", .more_is_better = true}, times = {.unit = "us"},
				short_times = {"us", .harmless = 2000};
	struct html_grid g = {.n = 3, .v = squares};
	const char *names[HTML_HEAT];

	(void)state;
	assert_true(html_grid_heat(&g, v, &rates, &a, names));
	assert_int_equal(squares[1], 1); /* the most is the best */
	assert_int_equal(squares[7], HTML_HEAT - 1);
	assert_true(squares[2] <= squares[5]);
	assert_int_equal(squares[0] + squares[3] + squares[6], 0); /* no number, no colour */
	assert_true(html_grid_heat(&g, v, &times, &a, names));
	assert_int_equal(squares[1], HTML_HEAT - 1);
	assert_int_equal(squares[7], 1);
	assert_string_equal(names[HTML_HEAT - 1], "up to 8 us");
	assert_true(html_grid_heat(&g, v, &short_times, &a, names));
	assert_true(squares[1] < HTML_HEAT - 1);
	assert_string_equal(names[HTML_HEAT - 1], "up to 2e+03 us");
	html_grid_shares(&g, lost, names);
	assert_int_equal(squares[0] + squares[5] + squares[7], 0);
	assert_string_equal(names[squares[1]], "none");
	assert_string_equal(names[squares[2]], "up to 0.01 %");
	assert_string_equal(names[squares[3]], "up to 0.3 %");
	assert_string_equal(names[squares[4]], "more");
	assert_string_equal(names[squares[8]], "up to 3 %");
	for (size_t i = 0; i < 9; i++)
		v[i] = -1;
	assert_false(html_grid_heat(&g, v, &rates, &a, names));
}

static void t_coarsen(void **state)
{
	enum { N = 300, SIDE = 100 };
	AUTO(arena_done) struct arena a = {0};
	double *v = arena_alloc(&a, (size_t)N * N * sizeof(*v));

	(void)state;
	for (size_t i = 0; i < (size_t)N * N; i++)
		v[i] = 5;
	v[(size_t)N * 299 + 3] = 1;
	v[1] = NAN;
	assert_int_equal(html_grid_coarsen(v, N, true), SIDE);
	assert_true(v[99 * SIDE + 1] < 2); /* the worst of nine */
	assert_true(v[0] > 4 && v[99 * SIDE] > 4);
	assert_int_equal(html_grid_coarsen(v, 128, true), 128);
}

/* The page of a run whose answer is a table: the verdict and the data are in it. */
/* Names that cards have no room for, and facts that are none for people. */
static void t_hosts(void **state)
{
#define DOMAIN "us-west-2.compute.internal"
#define HOST(n, master)                                                                            \
	"{\"host\":\"ip-10-0-1-1" n "." DOMAIN "\",\"data\":{\"facts\":{\"master\":" master        \
	",\"rdma\":true,\"kernel\":\"6.1\"}}}"
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc =
		parse("{\"schema\":1,\"command\":\"windsock\",\"host\":\"x\",\"verdict\":\"pass\","
		      "\"findings\":[],\"data\":{},\"nodes\":[" HOST(
			      "0", "[\"10.0.0.1\"]") "," HOST("1", "[]") "]}");
	html_nodes nodes = {0};
	struct text t;

	(void)state;
	html_list_nodes(doc, &a, &nodes);
	assert_int_equal(nodes.n, 2);
	text_init(&t, &a);
	html_topology(&nodes, &a, &t);
	assert_non_null(strstr(t.s, "<title>ip-10-0-1-10." DOMAIN "</title>"));
	assert_null(strstr(t.s, DOMAIN " (pass)"));
	assert_non_null(strstr(t.s, "10\u2026 (pass)"));
	text_init(&t, &a);
	html_environment(doc, &nodes, &a, &t);
	assert_non_null(strstr(t.s, ">kernel</th><td>6.1<"));
	assert_null(strstr(t.s, ">master<"));
	assert_null(strstr(t.s, ">rdma<"));
	cJSON_Delete(doc);
}

static void t_report_page(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	char folder[] = "/tmp/t_page.XXXXXX", page[40], output[40];
	struct report_opts o = {
		.command = "ncclbench", .page = page, .output = output, .draw = html_page};
	struct err e = {0};
	struct report *r;
	struct finding *f;
	char *text;
	size_t n;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(page, sizeof(page), "%s/page.html", folder);
	(void)snprintf(output, sizeof(output), "%s/table", folder);
	r = report_new(&o, &e);
	assert_non_null(r);
	assert_true(report_wants_data(r));
	json_str(report_data(r), "backend", "tcp");
	f = report_find(r, "coll.data", "all_reduce");
	finding_set(f, ST_FAIL, "3 of 4 results had wrong elements");
	report_add(r, f);
	report_covers(r, "two ranks");
	assert_int_equal(report_end(r, &e), 1);
	assert_int_equal(file_read(page, 1 << 20, &a, &text, &n, &e), 0);
	assert_non_null(strstr(text, "<b>FAIL</b>"));
	assert_non_null(strstr(text, "two ranks"));
	assert_non_null(html_envelope(text, n, &n));
	assert_int_equal(file_read(output, 1 << 20, &a, &text, &n, &e), 0);
	assert_non_null(strstr(text, "wrong elements"));
	assert_null(strstr(text, "html"));
	(void)unlink(page);
	(void)unlink(output);
	(void)rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_heat),
		cmocka_unit_test(t_coarsen),
		cmocka_unit_test(t_report_page),
		cmocka_unit_test(t_causes_are_ranked),
		cmocka_unit_test(t_escape),
		cmocka_unit_test(t_envelope_is_inside),
		cmocka_unit_test(t_own_commands),
		cmocka_unit_test(t_odd_documents),
		cmocka_unit_test(t_no_size),
		cmocka_unit_test(t_cut_off),
		cmocka_unit_test(t_fold),
		cmocka_unit_test(t_hosts),
		cmocka_unit_test(t_advice_on_remarks),
		cmocka_unit_test(t_hosts_by_how_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
