/* Who came first when several ranks behind an mpirun are lost, whichever is heard first; and where
 * to look for what it left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/verdict.h"
#include "lib/report/json.h"

enum { RANKS = 3 };

static const char abort_of_0[] =
	"{\"ev\":\"died\",\"rank\":0,\"cause\":\"killed by signal 6 (SIGABRT)\"}",
		  kill_of_2[] =
			  "{\"ev\":\"died\",\"rank\":2,\"cause\":\"killed by signal 9 (SIGKILL)\"}",
		  abort_of_2[] =
			  "{\"ev\":\"died\",\"rank\":2,\"cause\":\"killed by signal 6 (SIGABRT)\"}",
		  word_of_1[] = "{\"ev\":\"lost\",\"by\":1,\"rank\":0,\"message\":"
				"\"rank 0 (here, 127.0.0.1) died: connection lost\"}";

static int blamed(const char *const *events, size_t n)
{
	struct report_opts ro = {.command = "ncclbench", .format = "json", .host = "me"};
	struct story_opts so = {0};
	struct err e = {0}, nothing = {.kind = ERR_USAGE};
	struct report *r = report_new(&ro, &e);
	struct story s;
	int lost;

	assert_non_null(r);
	story_init(&s, &so, r);
	for (int i = 0; i < RANKS; i++)
		*LIST_ADD(s.a, &s.ranks) =
			(struct bench_rank){.host = "here", .address = "127.0.0.1"};
	for (size_t i = 0; i < n; i++) {
		cJSON *event = json_parse(events[i], strlen(events[i]), 4, &e);

		assert_non_null(event);
		story_event(event, &s);
		cJSON_Delete(event);
	}
	lost = s.lost;
	(void)report_end(r, &nothing);
	return lost;
}

static void an_abort_is_the_echo_of_a_kill(void **state)
{
	const char *const orders[][3] = {
		{abort_of_0, kill_of_2, word_of_1},
		{abort_of_0, word_of_1, kill_of_2},
		{kill_of_2, abort_of_0, word_of_1},
		{word_of_1, abort_of_0, kill_of_2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		assert_int_equal(blamed(orders[i], 3), 2);
	assert_int_equal(blamed(orders[0], 2), 2);
}

static void without_a_kill_the_first_to_abort_is_blamed(void **state)
{
	const char *const alone[] = {abort_of_0}, *const both[] = {abort_of_0, abort_of_2},
			  *const told[] = {abort_of_0, word_of_1};

	(void)state;
	assert_int_equal(blamed(alone, 1), 0);
	assert_int_equal(blamed(both, 2), 0);
	assert_int_equal(blamed(told, 2), 0);
}

static char first_fix[256]; /* of the latest finding */
static void keep_fix(struct finding *f)
{
	assert_string_equal(f->host, "b"); /* of that rank, whoever reports it */
	assert_int_equal(f->rank, 0);
	(void)snprintf(first_fix, sizeof(first_fix), "%s", f->fix.n ? f->fix.v[0] : "");
}

/* What a signal ended is no process any more that could be looked at; nor is who was silent, when
 * the run is over. */
static void who_died_is_looked_for_where_it_left_something(void **state UNUSED)
{
	static const struct {
		const char *message, *fix;
	} cases[] = {
		{"rank 0 (b, 10.0.0.2) died: killed by signal 11 (SIGSEGV)",
		 "coredumpctl info 77   # on b"},
		{"rank 0 (b, 10.0.0.2) died: killed by signal 7 (SIGBUS)",
		 "df -h /dev/shm   # on b"},
		{"rank 0 (b, 10.0.0.2) died: killed by signal 15 (SIGTERM)",
		 "journalctl --since -10min   # on b: a time limit, systemd-oomd, a logout?"},
		{"rank 0 (b, 10.0.0.2) died: killed by signal 9 (SIGKILL)",
		 "dmesg -T | grep -iE 'out of memory|killed process'   # on b"},
		{"rank 0 (b, 10.0.0.2): no answer for 5 s",
		 "uptime; ps -eo stat,pid,wchan:20,args | grep '^[DT]'   # on b: the rank was "
		 "ended with its run; what hangs there stays"},
		{"nothing passes between rank 0 (b, 10.0.0.2) and rank 1 (c, 10.0.0.3)",
		 "portcheck --rsh 'lab rsh' --hosts b,c   # what lets nothing through"},
		{"nothing passes between rank 0 (b, 10.0.0.2) and rank 2 (b, 10.0.0.2)",
		 "portcheck   # on b: its own firewall"},
		{"nothing passes between rank 0 (b, 10.0.0.2) and rank 7",
		 "- portcheck --hosts, with both of them: what lets nothing through"},
	};
	const struct report_opts ro = {
		.command = "ncclbench", .format = "json", .host = "a", .review = keep_fix};
	const struct story_opts so = {0};

	assert_int_equal(setenv("WINDSOCK_RSH_TYPED", "lab rsh", 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = {0}, nothing = {.kind = ERR_USAGE};
		struct report *r = report_new(&ro, &e);
		struct story s;

		assert_non_null(r);
		story_init(&s, &so, r);
		*LIST_ADD(s.a, &s.ranks) =
			(struct bench_rank){.host = "b", .address = "10.0.0.2", .pid = 77};
		*LIST_ADD(s.a, &s.ranks) = (struct bench_rank){.host = "c"};
		*LIST_ADD(s.a, &s.ranks) = (struct bench_rank){.host = "b"};
		verdict_lost(r, &s, 0, cases[i].message, NULL);
		assert_string_equal(first_fix, cases[i].fix);
		(void)report_end(r, &nothing);
	}
	assert_int_equal(unsetenv("WINDSOCK_RSH_TYPED"), 0);
}

static char latest[512]; /* what was found */
static void keep_message(struct finding *f)
{
	(void)snprintf(latest, sizeof(latest), "%s", f->message);
}

/* -N 0 may go on for days: two sizes, each faster once, and rank 1 keeps the others waiting. */
static void rows_without_end(bool keeps_rows, size_t want_rows)
{
	enum { ROWS = 2000 };
	const struct report_opts ro = {
		.command = "ncclbench", .host = "a", .quiet = true, .review = keep_message};
	const struct story_opts so = {.keeps_rows = keeps_rows,
				      .sweep = {.coll = coll_find("all_reduce")}};
	struct err e = {0}, nothing = {.kind = ERR_USAGE};
	struct report *r = report_new(&ro, &e);
	struct story s;
	char event[400];

	assert_non_null(r);
	story_init(&s, &so, r);
	for (int i = 0; i < 4; i++)
		*LIST_ADD(s.a, &s.ranks) = (struct bench_rank){.host = "a", .address = "10.0.0.1"};
	s.spread.of = arena_alloc(s.a, 4 * sizeof(*s.spread.of));
	s.begun = true;
	for (int i = 0; i < ROWS; i++) {
		cJSON *o;

		(void)snprintf(event, sizeof(event),
			       "{\"ev\":\"row\",\"type\":%d,\"op\":0,\"root\":0,\"count\":%d,"
			       "\"out\":{\"s\":1,\"bus\":%d,\"took\":1,\"waited\":[0,0.8,0.1,0]},"
			       "\"in\":{\"s\":1,\"bus\":1,\"took\":1,\"waited\":[0,0.8,0.1,0]}}",
			       DT_FLOAT, (1 + i % 2) << 20, i / 2 == ROWS / 4 ? 7 : 2);
		o = json_parse(event, strlen(event), 4, &e);
		assert_non_null(o);
		story_event(o, &s);
		cJSON_Delete(o);
	}
	assert_int_equal(s.totals.rows, ROWS);
	assert_int_equal(s.rows.n, want_rows);
	assert_true(s.totals.best_busbw == 7);
	for (size_t i = 0; want_rows == 2 && i < s.rows.n; i++) {
		assert_true(s.rows.v[i].row.out.busbw == 7);
		assert_ptr_equal(s.rows.v[i].row.c, &s.rows.v[i].c);
	}
	verdict_straggler(&s);
	assert_non_null(strstr(latest, "wait for rank 1 (a, 10.0.0.1) 80 % of the time, for any "
				       "other one at most 10 %"));
	(void)report_end(r, &nothing);
}

static void of_rows_without_end_the_best_are_kept(void **state UNUSED)
{
	rows_without_end(false, 2);
	rows_without_end(true, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_abort_is_the_echo_of_a_kill),
		cmocka_unit_test(without_a_kill_the_first_to_abort_is_blamed),
		cmocka_unit_test(who_died_is_looked_for_where_it_left_something),
		cmocka_unit_test(of_rows_without_end_the_best_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
