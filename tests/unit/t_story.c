/* Who came first when several ranks behind an mpirun are lost, whichever is heard first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/story.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_abort_is_the_echo_of_a_kill),
		cmocka_unit_test(without_a_kill_the_first_to_abort_is_blamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
