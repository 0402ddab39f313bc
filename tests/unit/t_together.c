/* What --together says: of pairs that slow each other, of those that do not, and of what is not
 * known; whatever it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/verdict.h"
#include "lib/report/json.h"

#include <math.h>

static void tell(struct story *s, const char *event)
{
	struct err e = {0};
	cJSON *o = json_parse(event, strlen(event), 8, &e);

	assert_non_null(o);
	story_event(o, s);
	cJSON_Delete(o);
}

struct world {
	struct report *r;
	struct story_opts o;
	struct story s;
	cJSON *doc;
};

/* @hosts by this name, a rank on each; @more: of each rank, behind a comma. */
static void begin(struct world *w, int hosts, const char *name, const char *more)
{
	const struct report_opts ro = {.command = "ncclbench", .format = "json", .host = "a"};
	struct err e = {0};
	struct text t;

	w->r = report_new(&ro, &e);
	assert_non_null(w->r);
	w->o = (struct story_opts){.sweep = {.coll = coll_find("all_reduce"), .cycles = 1}};
	story_init(&w->s, &w->o, w->r);
	text_init(&t, w->s.a);
	text_add(&t, "{\"ev\":\"world\",\"backend\":\"tcp\",\"transport\":\"1 socket\",\"device\":"
		     "\"host memory\",\"table\":0,\"ranks\":[");
	for (int i = 0; i < hosts; i++)
		text_addf(&t, "%s{\"host\":\"%s%d\",\"address\":\"10.0.0.%d\",\"device\":\"x\"%s}",
			  i ? "," : "", name, i, i + 1, more);
	text_add(&t, "]}");
	tell(&w->s, t.s);
	text_init(&t, w->s.a);
	for (int i = 0; i < hosts; i++)
		text_addf(&t, "%s%d", i ? "," : "", i);
	tell(&w->s, arena_printf(w->s.a, "{\"ev\":\"units\",\"ranks\":[%s],\"rails\":[]}", t.s));
	tell(&w->s, "{\"ev\":\"pair\",\"a\":0,\"b\":1,\"gbps\":10,\"latency\":1e-5}");
}

/* The first half of @hosts with the second. */
static void at_once(struct world *w, int hosts, double is, double busy, const char *more)
{
	struct text t;

	text_init(&t, w->s.a);
	for (int i = 0; i < hosts / 2; i++)
		text_addf(&t,
			  "%s{\"a\":%d,\"b\":%d,\"alone\":10,\"at_once\":%g,\"unhindered\":%g,"
			  "\"hindered\":0%s}",
			  i ? "," : "", i, i + hosts / 2, is, is,
			  isnan(busy) ? "" : arena_printf(w->s.a, ",\"busy\":%g", busy));
	tell(&w->s, arena_printf(w->s.a, "{\"ev\":\"at_once\",\"seconds\":2,\"pairs\":[%s]%s}", t.s,
				 more));
}

/* The one finding, until over(); NULL: there is none. */
static const cJSON *verdict(struct world *w, double expect)
{
	const struct verdict_opts o = {.expect_gbps = expect};
	const cJSON *f, *found = NULL;
	struct err e = {0};

	assert_int_equal(story_verdict(&w->s, &o, &e), 0);
	w->doc = report_envelope(w->r);
	cJSON_ArrayForEach (f, json_get(w->doc, "findings")) {
		if (!streq(json_text(f, "check"), "pair.together"))
			continue;
		assert_null(found);
		found = f;
	}
	return found;
}

static bool is(const cJSON *f, const char *status) { return streq(json_text(f, "status"), status); }

static bool says(const cJSON *f, const char *text) { return strstr(json_text(f, "message"), text); }

static bool fixes(const cJSON *f, const char *text)
{
	const cJSON *line;

	cJSON_ArrayForEach (line, json_get(f, "fix"))
		if (strstr(line->valuestring, text))
			return true;
	return false;
}

static const cJSON *data(const struct world *w) { return json_get(report_data(w->r), "together"); }

static void over(struct world *w)
{
	struct err nothing = {.kind = ERR_USAGE};

	cJSON_Delete(w->doc);
	(void)report_end(w->r, &nothing); /* prints nothing then */
}

#define TWO ",\"of\":[0,0,1,1],\"share\":0.98"

static void who_shares_it_is_named(void **state)
{
	const cJSON *f;
	struct world w;

	(void)state;
	begin(&w, 4, "n", "");
	at_once(&w, 4, 4, NAN, TWO);
	f = verdict(&w, 0);
	assert_true(is(f, "warn"));
	assert_true(says(f, "2 pairs at once reach 8.000 GB/s each way in all, alone "
			    "they add up to 20.000 (2.5 : 1): what is between n[0-1] "
			    "and n[2-3] is shared, and pairs within these keep 98 %"));
	assert_true(says(f, "get 4.000 GB/s instead of 10.000"));
	assert_true(fixes(f, "--hosts 'n[0-1],n[2-3]'") && fixes(f, "srun --switches=1"));
	assert_false(fixes(f, "placement group"));
	assert_int_equal(cJSON_GetArraySize(json_get(data(&w), "groups")), 2);
	assert_string_equal(json_get_str(data(&w), "oversubscribed"), "shared");
	assert_true(fabs(json_get_num(data(&w), "ratio", 0) - 0.4) < 1e-9);
	over(&w);
}

static void where_is_not_made_up(void **state)
{
	const cJSON *f;
	struct world w;

	(void)state;
	begin(&w, 16, "10.0.0.", ",\"instance\":\"c5n.18xlarge\"");
	at_once(&w, 16, 2, 0.3, ",\"share_machine\":true");
	f = verdict(&w, 0);
	assert_true(is(f, "warn"));
	assert_true(says(f, "(5.0 : 1): something between them is shared (these hosts "
			    "are on one machine); where, was not found out"));
	assert_true(fixes(f, "placement group") && !fixes(f, "srun") && !fixes(f, "--hosts"));
	assert_int_equal(cJSON_GetArraySize(json_get(data(&w), "groups")), 0);
	over(&w);
}

static void what_was_asked_of_each_pair_fails(void **state)
{
	struct world w;

	(void)state;
	for (int asks = 3; asks < 6; asks += 2) {
		begin(&w, 4, "n", "");
		at_once(&w, 4, 4, NAN, TWO);
		assert_true(is(verdict(&w, asks), asks > 4 ? "fail" : "warn"));
		over(&w);
	}
}

static void as_much_as_alone_passes(void **state)
{
	const cJSON *f;
	struct world w;

	(void)state;
	begin(&w, 12, "n", "");
	at_once(&w, 12, 9, NAN, "");
	f = verdict(&w, 0);
	assert_true(is(f, "pass"));
	assert_true(says(f, "6 pairs at once reach 54.000 GB/s each way in all, 90 %"));
	assert_string_equal(json_get_str(data(&w), "oversubscribed"), "none");
	over(&w);
}

static void what_is_not_judged_says_why(void **state)
{
	const cJSON *f;
	struct world w;

	(void)state;
	begin(&w, 4, "n", "");
	at_once(&w, 4, 3, 1.5, ",\"share_machine\":true");
	f = verdict(&w, 0);
	assert_true(is(f, "skip") && says(f, "processors were busy"));
	assert_string_equal(json_get_str(data(&w), "oversubscribed"), "unknown");
	over(&w);
	begin(&w, 3, "n", "");
	tell(&w.s, "{\"ev\":\"at_once\",\"share_machine\":false}");
	f = verdict(&w, 0);
	assert_true(is(f, "skip") && says(f, "four hosts, and here are 3"));
	assert_null(data(&w));
	over(&w);
	begin(&w, 4, "n", ""); /* and nobody asked for it */
	assert_null(verdict(&w, 0));
	over(&w);
}

/* A rank of another version, or a broken one. */
static void nonsense_is_not_believed(void **state)
{
	static const char *const odd[] = {
		",\"of\":[0,0,1]", ",\"of\":[0,-1,99,1e30]", ",\"of\":\"x\",\"share\":\"y\"",
		",\"of\":[null,{},[],\"a\"]", ",\"trials\":-1,\"seconds\":null"};
	const cJSON *f;
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		begin(&w, 4, "n", "");
		at_once(&w, 4, 4, NAN, odd[i]);
		assert_true(is(verdict(&w, 0), "warn"));
		assert_int_equal(cJSON_GetArraySize(json_get(data(&w), "groups")), 0);
		over(&w);
	}
	begin(&w, 4, "n", "");
	tell(&w.s, "{\"ev\":\"at_once\",\"pairs\":[{\"a\":0,\"b\":7,\"alone\":1,\"at_once\":1},"
		   "{\"a\":-1},{},5,{\"a\":0,\"b\":1,\"alone\":-1,\"at_once\":0}]}");
	f = verdict(&w, 0);
	assert_true(is(f, "skip") && says(f, "not measured") && !json_get(f, "value"));
	over(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_shares_it_is_named),
		cmocka_unit_test(where_is_not_made_up),
		cmocka_unit_test(what_was_asked_of_each_pair_fails),
		cmocka_unit_test(as_much_as_alone_passes),
		cmocka_unit_test(what_is_not_judged_says_why),
		cmocka_unit_test(nonsense_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
