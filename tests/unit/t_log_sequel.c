/* Lines that follow another one: found whatever the pieces the log comes in, in the words of the
 * rank that has them, and given back where an entry of the catalogue knows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/text.h"
#include "probes/log/explain.h"

static void read_in_pieces(struct why *w, const char *text, size_t piece)
{
	struct why_stream s;
	size_t n = strlen(text);

	why_init(w);
	why_open(&s, w, "log");
	for (size_t i = 0; i < n; i += piece)
		why_feed(&s, text + i, n - i < piece ? n - i : piece);
	why_close(&s);
}

static const struct record *exceptions(const struct why *w)
{
	return &w->records[signature_find("APP-001")];
}

static void the_end_of_a_traceback(void **state UNUSED)
{
	static const char text[] = "[rank3]: Traceback (most recent call last):\n"
				   "[rank3]:   File \"/job/train.py\", line 31, in main\n"
				   "[rank0]: shards.Ready: another rank's words\n"
				   "[rank3]:     read(\n"
				   "[rank3]:         shard)\n"
				   "[rank3]: shards.Missing: no shard 7\n"
				   "[rank3]: shards.Later: not its line\n";

	for (size_t piece = 1; piece < sizeof(text); piece += 5) {
		struct why w;

		read_in_pieces(&w, text, piece);
		assert_int_equal(exceptions(&w)->count, 1);
		assert_int_equal(exceptions(&w)->events.v[0].line, 6);
		assert_int_equal(exceptions(&w)->events.v[0].who.rank, 3);
		assert_string_equal(exceptions(&w)->events.v[0].body, "shards.Missing: no shard 7");
		assert_string_equal(exceptions(&w)->events.v[0].frame, "train.py line 31, in main");
		assert_int_equal(w.lines, 7);
		why_done(&w);
	}
}

/* "out of resource", of Triton, has an entry of its own. */
static void what_is_known_is_given_back(void **state UNUSED)
{
	static const char text[] =
		"Traceback (most recent call last):\n"
		"  File \"/job/train.py\", line 31, in main\n"
		"shards.Missing: no shard 7\n"
		"Traceback (most recent call last):\n"
		"  File \"/job/train.py\", line 32, in main\n"
		"triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: "
		"131072, Hardware limit: 101376\n";
	struct why w;

	read_in_pieces(&w, text, sizeof(text));
	assert_int_equal(exceptions(&w)->count, 1);
	assert_int_equal(exceptions(&w)->events.n, 1);
	assert_int_equal(exceptions(&w)->events.v[0].line, 3);
	assert_int_equal(w.records[signature_find("GPU-057")].count, 1);
	why_done(&w);
}

static void the_calls_of_a_collective(void **state UNUSED)
{
	static const char text[] =
		"[rank2]:[E1107 11:20:01.3 ProcessGroupNCCL.cpp:667] Stack trace of the failed "
		"collective: \n"
		"#0 all_reduce from /env/lib/python3.11/site-packages/torch/distributed/c.py:2810\n"
		"#1 step from /env/lib/python3.11/site-packages/trainer/loop.py:12\n"
		"#2 step from /job/train.py:88\n"
		"#3 <module> from /job/train.py:140\n";
	const struct log_who who = {.rank = 2, .local = -1};

	for (size_t piece = 1; piece < sizeof(text); piece += 5) {
		struct why w;

		read_in_pieces(&w, text, piece);
		assert_string_equal(actors_get(&w.actors, &who)->place,
				    "train.py line 88, in step");
		why_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_traceback),
		cmocka_unit_test(what_is_known_is_given_back),
		cmocka_unit_test(the_calls_of_a_collective),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
