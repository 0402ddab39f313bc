/* What a benchmark's rows come to: by which of them a network is judged, live and of a saved
 * run, and with what a baseline can be compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/saved.h"
#include "bench/sweep/straggler.h"
#include "bench/sweep/verdict.h"
#include "lib/report/json.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

struct told { /* a row of all_reduce */
	size_t bytes;
	double busbw;
};

static const struct story_opts opts = {.sweep = {.min = 8,
						 .max = 1 << 30,
						 .factor = 2,
						 .cycles = 1,
						 .check = 1,
						 .types = 1u << DT_FLOAT,
						 .ops = 1u << OP_SUM}};

static void tell(struct story *s, const char *event)
{
	struct err e = {0};
	cJSON *o = json_parse(event, strlen(event), 8, &e);

	assert_non_null(o);
	story_event(o, s);
	cJSON_Delete(o);
}

/* Two ranks whose cards do 10 Gb/s: 1.25 GB/s of TCP is possible. */
static struct report *told(struct story *s, struct story_opts *o, const char *other,
			   const struct told *rows, size_t n)
{
	struct report_opts ro = {.command = "ncclbench", .format = "json", .host = "a"};
	struct err e = {0};
	struct report *r = report_new(&ro, &e);
	char event[400];

	assert_non_null(r);
	*o = opts;
	o->sweep.coll = coll_find("all_reduce");
	story_init(s, o, r);
	(void)snprintf(event, sizeof(event),
		       "{\"ev\":\"world\",\"backend\":\"tcp\",\"transport\":\"4 sockets\","
		       "\"device\":\"host memory\",\"ranks\":["
		       "{\"host\":\"a\",\"address\":\"10.0.0.1\",\"device\":\"x\",\"nic_gbps\":10},"
		       "{\"host\":\"%s\",\"address\":\"10.0.0.2\",\"device\":\"x\","
		       "\"nic_gbps\":10}]}",
		       other);
	tell(s, event);
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(event, sizeof(event),
			       "{\"ev\":\"row\",\"type\":%d,\"op\":0,\"root\":0,\"count\":%zu,"
			       "\"out\":{\"s\":1,\"alg\":%g,\"bus\":%g,\"wrong\":0},"
			       "\"in\":{\"s\":1,\"alg\":%g,\"bus\":%g,\"wrong\":0}}",
			       DT_FLOAT, rows[i].bytes / 4, rows[i].busbw, rows[i].busbw,
			       rows[i].busbw, rows[i].busbw);
		tell(s, event);
	}
	return r;
}

static void over(struct report *r)
{
	struct err nothing = {.kind = ERR_USAGE};

	(void)report_end(r, &nothing); /* prints nothing then */
}

static size_t live(const struct told *rows, size_t n, enum status st)
{
	const struct verdict_opts vo = {0};
	struct story_opts o;
	struct story s;
	struct err e = {0};
	struct report *r = told(&s, &o, "b", rows, n);
	size_t count;

	assert_int_equal(story_verdict(&s, &vo, &e), 0);
	count = report_count(r, st);
	over(r);
	return count;
}

/* The same rows, of a file. */
static size_t saved_wanted(const struct told *rows, size_t n, double wanted, enum status st)
{
	struct report_opts ro = {.command = "ncclbench", .format = "json", .host = "a"};
	struct err e = {0};
	struct report *r = report_new(&ro, &e);
	struct saved *x;
	saved_list l = {0};
	size_t count;

	assert_non_null(r);
	x = saved_begin(&l, report_arena(r));
	x->coll = "all_reduce";
	x->backend = "tcp";
	x->ranks = x->hosts = 2;
	x->worlds = 1;
	x->verified = true;
	x->average = 1;
	for (size_t i = 0; i < n; i++)
		saved_point(x, report_arena(r), (double)rows[i].bytes, rows[i].busbw, 1,
			    rows[i].busbw);
	saved_judge(&l, &(struct saved_opts){.nic_gbps = 10, .expect_gbps = wanted}, r);
	count = report_count(r, st);
	over(r);
	return count;
}

static size_t saved(const struct told *rows, size_t n, enum status st)
{
	return saved_wanted(rows, n, 0, st);
}

enum { MIB = 1 << 20 };

/* As with a live run: what is asked for judges, not what the cards could do. */
static void a_saved_table_is_judged_by_what_is_asked(void **state UNUSED)
{
	const struct told rows[] = {{64 * MIB, 1.1}, {256 * MIB, 1.1}};

	assert_int_equal(saved(rows, ARRAY_LEN(rows), ST_FAIL), 0);
	assert_int_equal(saved_wanted(rows, ARRAY_LEN(rows), 1.2, ST_FAIL), 1);
	assert_int_equal(saved_wanted(rows, ARRAY_LEN(rows), 0.3, ST_FAIL), 0);
}

/* Clones of one image have a name in common, and containers a machine. */
static void hosts_are_names_on_machines(void **state UNUSED)
{
	const struct story_opts o = {.sweep = {.coll = coll_find("all_reduce"), .max = 8}};
	struct report_opts ro = {.command = "ncclbench", .format = "json", .host = "a"};
	struct err e = {0};
	struct report *r = report_new(&ro, &e);
	struct story s;

	assert_non_null(r);
	story_init(&s, &o, r);
	tell(&s, "{\"ev\":\"world\",\"backend\":\"tcp\",\"ranks\":["
		 "{\"host\":\"ubuntu\",\"machine\":\"1\"},{\"host\":\"ubuntu\",\"machine\":\"2\"},"
		 "{\"host\":\"pod\",\"machine\":\"2\"},{\"host\":\"ubuntu\",\"machine\":\"1\"}]}");
	assert_int_equal(story_hosts(&s), 3);
	assert_true(s.spread.least == 1 && s.spread.most == 2);
	assert_true(story_are_together(&s, 0, 3) && !story_are_together(&s, 0, 1));
	over(r);
}

/* Four GB200 on two hosts: what NCCL's connections show, and what is warned of. */
static size_t nvlink_lacks(const char *connections)
{
	const struct story_opts o = {.sweep = {.coll = coll_find("all_reduce"), .max = 8}};
	struct err e = {0};
	struct report *r = report_new(
		&(struct report_opts){.command = "ncclbench", .format = "json", .host = "a"}, &e);
	struct story s;
	char event[600];
	size_t n;

	assert_non_null(r);
	story_init(&s, &o, r);
	(void)snprintf(event, sizeof(event),
		       "{\"ev\":\"world\",\"backend\":\"nccl\",\"transport\":\"NCCL 2.28.9; %s\","
		       "\"device\":\"NVIDIA GB200\",\"ranks\":["
		       "{\"host\":\"a\",\"device\":\"NVIDIA GB200\"},"
		       "{\"host\":\"b\",\"device\":\"NVIDIA GB200\"}]}",
		       connections);
	tell(&s, event);
	verdict_domain(&s);
	n = report_count(r, ST_WARN);
	over(r);
	return n;
}

static void nvlink_between_hosts_is_missed(void **state UNUSED)
{
	assert_int_equal(nvlink_lacks("NET/IB with GPUDirect (2 pairs), P2P (2 pairs)"), 1);
	assert_int_equal(nvlink_lacks("P2P (4 pairs)"), 0);
	assert_int_equal(nvlink_lacks("no connection was logged"), 0);
}

/* "215 % of what is possible": what was thought possible was wrong, and is not judged by. */
static void more_than_possible_is_no_pass(void **state UNUSED)
{
	const struct told rows[] = {{64 * MIB, 2.6}, {256 * MIB, 2.6}},
			  just[] = {{64 * MIB, 1.3}, {256 * MIB, 1.3}};

	assert_int_equal(live(rows, ARRAY_LEN(rows), ST_INFO),
			 live(just, ARRAY_LEN(just), ST_INFO) + 1);
	assert_int_equal(live(rows, ARRAY_LEN(rows), ST_PASS) + 1,
			 live(just, ARRAY_LEN(just), ST_PASS));
	assert_int_equal(saved(rows, ARRAY_LEN(rows), ST_WARN),
			 saved(just, ARRAY_LEN(just), ST_WARN) + 1);
}

/* No size is too small to show that what was thought possible was wrong: live as saved. */
static void more_than_possible_at_a_small_size_is_no_less(void **state UNUSED)
{
	const struct told rows[] = {{4096, 2.6}, {8192, 2.6}}, just[] = {{4096, 1.3}, {8192, 1.3}};

	assert_int_equal(live(rows, ARRAY_LEN(rows), ST_INFO),
			 live(just, ARRAY_LEN(just), ST_INFO));
	assert_int_equal(saved(rows, ARRAY_LEN(rows), ST_WARN), 1);
	assert_int_equal(saved(just, ARRAY_LEN(just), ST_WARN), 0);
}

/* What a rate limit lets through at first is no word on the network. */
static void a_burst_at_a_small_size_hides_nothing(void **state)
{
	const struct told slow[] = {{MIB, 0.9}, {8 * MIB, 1.2}, {64 * MIB, 0.2}, {256 * MIB, 0.2}},
			  well[] = {{8 * MIB, 1.2}, {64 * MIB, 1.1}},
			  small[] = {{MIB, 0.1}, {8 * MIB, 0.2}};

	(void)state;
	assert_int_equal(live(slow, ARRAY_LEN(slow), ST_FAIL), 1);
	assert_int_equal(live(well, ARRAY_LEN(well), ST_FAIL), 0);
	assert_int_equal(live(small, ARRAY_LEN(small), ST_FAIL), 0);
	assert_int_equal(saved(slow, ARRAY_LEN(slow), ST_FAIL), 1);
	assert_int_equal(saved(well, ARRAY_LEN(well), ST_FAIL), 0);
	assert_int_equal(saved(small, ARRAY_LEN(small), ST_FAIL), 0);
}

/* A link that does 0.05 GB/s, behind a shaper with a bucket of 2 MB: the largest sizes tell. Nor
 * has anybody who wants 1 GB/s got them. */
static void what_lasts_is_judged(void **state)
{
	const struct told shaped[] = {{32 << 10, 2.18}, {64 << 10, 0.05}, {8 * MIB, 0.05}},
			  growing[] = {{32 << 10, 0.5}, {MIB, 1.2}, {8 * MIB, 1.1}};
	const struct verdict_opts vo = {.expect_gbps = 1};
	const struct {
		const struct told *rows;
		enum status status;
	} cases[] = {{shaped, ST_FAIL}, {growing, ST_PASS}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct story_opts o;
		struct story s;
		struct err e = {0};
		struct report *r = told(&s, &o, "b", cases[i].rows, 3);

		assert_int_equal(story_verdict(&s, &vo, &e), 0);
		assert_int_equal(report_count(r, ST_FAIL), cases[i].status == ST_FAIL);
		over(r);
	}
}

/* TCP is there at once: of a saved run no less is asked than of one that runs. */
static void a_saved_run_is_judged_as_a_live_one(void **state)
{
	static const double reached[] = {0.2, 0.4, 0.45, 0.6, 0.8, 1.1};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(reached); i++) {
		const struct told row = {32 * MIB, reached[i]};

		assert_int_equal(live(&row, 1, ST_FAIL), reached[i] < 0.38 * 1.25);
		assert_int_equal(saved(&row, 1, ST_FAIL), reached[i] < 0.38 * 1.25);
		assert_int_equal(saved(&row, 1, ST_WARN), live(&row, 1, ST_WARN));
	}
}

/* Of as many ranks, but not on as many hosts: one is a network, and the other is memory. */
static void a_baseline_is_of_so_many_hosts(void **state)
{
	static const char *const others[] = {"b", "a"};
	const struct told row = {64 * MIB, 1.1};
	char path[256];
	struct err e = {0};

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/t_story_judge.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	assert_int_equal(close(mkstemp(path)), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct story_opts o;
		struct story s;
		struct report *r = told(&s, &o, others[i], &row, 1);

		if (!i)
			assert_int_equal(baseline_save(&s, path, &e), 0);
		baseline_judge(&s, baseline_read(path, s.a, &e), 0.9, 0.8);
		assert_int_equal(report_count(r, ST_PASS), !i);
		assert_int_equal(report_count(r, ST_ERROR), i);
		over(r);
	}
	(void)unlink(path);
}

/* The share of the others at one of twelve sizes. */
static enum status one_size_has(double share)
{
	static const enum status all[] = {ST_PASS, ST_WARN, ST_FAIL};
	struct told rows[12];
	struct err e = {0};
	enum status is = ST_ERROR;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/t_story_judge.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	assert_int_equal(close(mkstemp(path)), 0);
	for (size_t i = 0; i < 12; i++)
		rows[i] = (struct told){(size_t)MIB << i, 1};
	for (int again = 0; again < 2; again++) {
		struct story_opts o;
		struct story s;
		struct report *r;

		rows[5].busbw = again ? share : 1;
		r = told(&s, &o, "b", rows, 12);
		if (!again)
			assert_int_equal(baseline_save(&s, path, &e), 0);
		baseline_judge(&s, baseline_read(path, s.a, &e), BASELINE_WARN, BASELINE_FAIL);
		for (size_t i = 0; i < ARRAY_LEN(all); i++)
			is = report_count(r, all[i]) ? all[i] : is;
		over(r);
	}
	(void)unlink(path);
	return is;
}

static void one_bad_size_is_not_lost_in_the_mean(void **state UNUSED)
{
	assert_int_equal(one_size_has(1), ST_PASS);
	assert_int_equal(one_size_has(0.85), ST_PASS);
	assert_int_equal(one_size_has(0.7), ST_WARN);
	assert_int_equal(one_size_has(0.25), ST_FAIL);
}

/* A table whose rows were all lost on their way proves nothing: that is no success. */
static void a_table_without_rows_is_an_error(void **state)
{
	const struct verdict_opts vo = {0};
	const struct told row = {64 * MIB, 1.1};
	struct story_opts o;
	struct story s;
	struct err e = {0}, broken;
	struct report *r = told(&s, &o, "b", NULL, 0);

	(void)state;
	assert_int_equal(story_verdict(&s, &vo, &e), -1);
	assert_int_equal(e.kind, ERR_SYS);
	assert_non_null(strstr(e.msg, "nothing was measured"));
	over(r);
	/* another reason is known already */
	r = told(&s, &o, "b", NULL, 0);
	broken = (struct err){.kind = ERR_ABSENT, .msg = "no driver"};
	assert_int_equal(story_verdict(&s, &vo, &broken), 0);
	assert_string_equal(broken.msg, "no driver");
	over(r);
	e = (struct err){0};
	r = told(&s, &o, "b", &row, 1);
	assert_int_equal(story_verdict(&s, &vo, &e), 0);
	over(r);
}

/* What was not compared was not verified: N/A of a way that a library lacks, and empty messages. */
static void what_was_not_compared_is_not_counted(void **state)
{
	static const char row[] = "{\"ev\":\"row\",\"type\":%d,\"op\":0,\"root\":0,\"count\":%d,"
				  "\"out\":{\"s\":1,\"p50\":%g,\"wrong\":0},"
				  "\"in\":{\"s\":1,\"wrong\":%d}}";
	const struct verdict_opts vo = {0};
	struct story_opts o;
	struct story s;
	struct err e = {0};
	struct report *r = told(&s, &o, "b", NULL, 0);
	char event[400];

	(void)state;
	(void)snprintf(event, sizeof(event), row, DT_FLOAT, 0, 1e-9, 0);
	tell(&s, event);
	assert_int_equal(story_verdict(&s, &vo, &e), 0);
	assert_int_equal(report_count(r, ST_ERROR), 1);
	assert_int_equal(report_count(r, ST_PASS), 0);
	over(r);
	r = told(&s, &o, "b", NULL, 0);
	(void)snprintf(event, sizeof(event), row, DT_FLOAT, 0, 1e-9, 0);
	tell(&s, event);
	(void)snprintf(event, sizeof(event), row, DT_FLOAT, 16, 1e-3, -1);
	tell(&s, event);
	assert_int_equal(s.totals.rows, 2);
	assert_int_equal(s.totals.carried, 1);
	assert_int_equal(s.totals.checked, 1);
	assert_true(s.totals.best_latency == 1e-3);
	over(r);
}

/* How long a rank was waited for is weighed by how long its row took, not by -n. */
static void a_straggler_is_weighed_by_time(void **state)
{
	static const char row[] = "{\"ev\":\"row\",\"type\":%d,\"op\":0,\"root\":0,"
				  "\"count\":1048576,"
				  "\"out\":{\"s\":%g,\"took\":%g,\"wrong\":0,\"waited\":[%g,0]},"
				  "\"in\":{\"s\":%g,\"took\":%g,\"wrong\":0,\"waited\":[%g,0]}}";
	double seconds[2] = {0};
	struct story_opts o;
	struct story s;
	struct report *r = told(&s, &o, "b", NULL, 0);
	char event[600];

	(void)state;
	o.sweep.iters = s.sweep.iters = 20;
	(void)snprintf(event, sizeof(event), row, DT_FLOAT, 0.001, 0.2, 0.5, 0.004, 0.1, 1.0);
	tell(&s, event);
	assert_int_equal(s.rows.n, 1);
	assert_true(fabs(straggler_add(&s, &s.rows.v[0].row, seconds) - 0.3) < 1e-12);
	assert_true(fabs(seconds[0] - 0.2) < 1e-12);
	over(r);
}

/* Rows point to their cases also when there are many of them. */
static void many_rows_have_their_own_cases(void **state)
{
	enum { ROWS = 3000 };
	struct told *rows = calloc(ROWS, sizeof(*rows));
	struct story_opts o;
	struct story s;
	struct report *r;

	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		rows[i] = (struct told){4 * (i + 1), 1};
	r = told(&s, &o, "b", rows, ROWS);
	assert_int_equal(s.rows.n, ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		assert_ptr_equal(s.rows.v[i].row.c, &s.rows.v[i].c);
		assert_int_equal(coll_bytes(s.rows.v[i].row.c), 4 * (i + 1));
	}
	over(r);
	free(rows);
}

/* Pairs were all measured, and then somebody pressed Ctrl-C. */
static void what_was_asked_for_and_not_begun_is_said(void **state)
{
	const struct verdict_opts asked = {.pairs = true, .together = true}, not = {.pairs = true};
	const struct verdict_opts *const each[] = {&not, &asked};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(each); i++) {
		struct story_opts o;
		struct story s;
		struct report *r = told(&s, &o, "b", NULL, 0);

		tell(&s, "{\"ev\":\"units\",\"ranks\":[0,1],\"rails\":[]}");
		tell(&s, "{\"ev\":\"pair\",\"a\":0,\"b\":1,\"rail\":-1,\"gbps\":1}");
		tell(&s, "{\"ev\":\"pair\",\"a\":1,\"b\":0,\"rail\":-1,\"gbps\":1}");
		verdict_pairs(&s, each[i]);
		assert_int_equal(report_count(r, ST_SKIP), i);
		over(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_saved_table_is_judged_by_what_is_asked),
		cmocka_unit_test(hosts_are_names_on_machines),
		cmocka_unit_test(nvlink_between_hosts_is_missed),
		cmocka_unit_test(more_than_possible_is_no_pass),
		cmocka_unit_test(more_than_possible_at_a_small_size_is_no_less),
		cmocka_unit_test(a_burst_at_a_small_size_hides_nothing),
		cmocka_unit_test(what_lasts_is_judged),
		cmocka_unit_test(a_saved_run_is_judged_as_a_live_one),
		cmocka_unit_test(a_baseline_is_of_so_many_hosts),
		cmocka_unit_test(one_bad_size_is_not_lost_in_the_mean),
		cmocka_unit_test(a_table_without_rows_is_an_error),
		cmocka_unit_test(what_was_not_compared_is_not_counted),
		cmocka_unit_test(a_straggler_is_weighed_by_time),
		cmocka_unit_test(many_rows_have_their_own_cases),
		cmocka_unit_test(what_was_asked_for_and_not_begun_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
