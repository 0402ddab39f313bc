/* What NCCL's RAS service says of a job, in JSON and in text, and what it comes to. */
#include "lib/core/file.h"
#include "lib/report/json.h"
#include "probes/log/live.h"
#include "tests/unit/report_file.h"

/* "fail 0xa: rank 1 ... -> fix", a line each */
static const char *said(struct arena *a, const char *first, const char *second, cJSON **ret_doc)
{
	char out[64];
	struct report *r = report_file_new(out, "ncclwhy", "json");
	struct err e = {0};
	const cJSON *f;
	struct text t;
	char *text;
	size_t n;

	live_judge(first, strlen(first), second, second ? strlen(second) : 0, "node1:28029", r);
	(void)report_end(r, &e);
	assert_int_equal(file_read(out, 1 << 20, a, &text, &n, &e), 0);
	(void)unlink(out);
	*ret_doc = json_parse(text, n, 30, &e);
	assert_non_null(*ret_doc);
	text_init(&t, a);
	cJSON_ArrayForEach (f, json_get(*ret_doc, "findings")) {
		const cJSON *fix = cJSON_GetArrayItem(json_get(f, "fix"), 0);

		text_addf(&t, "%s %s: %s%s%s\n", json_get_str(f, "status"),
			  json_get_str(f, "subject"), json_get_str(f, "message"), fix ? " -> " : "",
			  fix ? fix->valuestring : "");
	}
	return t.s;
}

static void check_causes(const cJSON *doc, const char *id, const char *confirm)
{
	const cJSON *c = cJSON_GetArrayItem(json_get(json_get(doc, "data"), "causes"), 0);

	if (!id) {
		assert_null(c);
		return;
	}
	assert_string_equal(json_get_str(c, "id"), id);
	assert_string_equal(cJSON_GetArrayItem(json_get(c, "confirm"), 0)->valuestring, confirm);
}

/* @id: of the first cause, NULL: none. */
static void expect(const char *first, const char *second, const char *id, const char *confirm,
		   const char *want)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc;

	assert_string_equal(said(&a, first, second, &doc), want);
	check_causes(doc, id, confirm);
	cJSON_Delete(doc);
}

/* --- JSON -------------------------------------------------------------------------- */

#define RANK(n, init, async, calls)                                                                \
	"{\"rank\":" #n ",\"host\":\"10.0.0." #n "\",\"pid\":47,\"status\":{\"init_state\":" #init \
	",\"async_error\":" #async "},\"collective_counts\":{\"AllReduce\":" #calls "}}"
#define COMM(hash, ranks)                                                                          \
	"{\"hash\":\"" hash "\",\"secondary_hash\":\"0x1:0x2\",\"size\":2,\"ranks_count\":2,"      \
	"\"ranks\":[" ranks "],\"missing_ranks\":[]}"
#define JOB(comms)                                                                                 \
	"{\"nccl_version\":\"2.28.9\",\"communicators\":[" comms "],\"ras\":{\"timeouts_count\":"  \
	"0}}"
#define PAIR(first, second) JOB(COMM("0xa", first "," second))

#define WELL PAIR(RANK(0, 0, 0, 5), RANK(1, 0, 0, 5))

#define TEXT(errors, warnings)                                                                     \
	"NCCL version 2.26.2 compiled with CUDA 12.6\n\nErrors\n======\n\n" errors                 \
	"Warnings\n========\n\n" warnings
#define DIFFERENT(op) "  Communicator ranks have different " op " operation counts\n"
#define COUNTS(most, least)                                                                        \
	"  3 ranks have launched up to operation " #most                                           \
	"\n  Rank 3 has launched up to operation " #least                                          \
	" -- GPU 3 managed by process 47 on node 10.0.0.3\n\n"

static void a_communicator_that_failed_to_initialise_is_an_error(void **state UNUSED)
{
	static const char failed[] = PAIR(RANK(0, 7, 0, 0), RANK(1, 2, 0, 0));

	expect(failed, failed, "LIVE-003", "read that rank's log, on 10.0.0.1",
	       "fail 0xa: rank 1 (10.0.0.1, pid 47) reports that it could not set its communicator "
	       "up (code 2: unhandled system error) -> NCCL_DEBUG=INFO COMMAND 2>&1 | ncclwhy\n");
}

static void who_connects_in_both_answers_is_named(void **state UNUSED)
{
	static const char both[] = PAIR(RANK(0, 7, 0, 0), RANK(1, 7, 0, 0));
	static const char one[] = PAIR(RANK(0, 0, 0, 0), RANK(1, 7, 0, 0));

	expect(both, both, NULL, NULL,
	       "warn 0xa: rank 0 (10.0.0.0, pid 47), rank 1 (10.0.0.1, pid 47) are still "
	       "connecting "
	       "-> ncclwhy --live=node1:28029   # again in a minute\n");
	expect(one, one, NULL, NULL,
	       "warn 0xa: rank 1 (10.0.0.1, pid 47) is still connecting; 1 other rank is through "
	       "-> ncclwhy --live=node1:28029   # again in a minute\n");
	expect(one, WELL, NULL, NULL, "pass 0xa: all 2 ranks are there and the job moves\n");
	expect(JOB(""), one, NULL, NULL, "pass 0xa: all 2 ranks are there and the job moves\n");
}

/* NCCL 2.27 and later start a split's with that code, before it is set up. */
static void an_internal_error_may_be_a_split_that_connects(void **state UNUSED)
{
	static const char split[] = PAIR(RANK(0, 3, 0, 0), RANK(1, 3, 0, 0));
	static const char failed[] = PAIR(RANK(0, 3, 0, 0), RANK(1, 3, 3, 0));
	static const char text[] =
		TEXT("#0-0 (aaaa) ERROR\n  Initialization errors on 4 ranks\n  4 ranks reported "
		     "Internal error\n\n",
		     "");

	expect(split, split, NULL, NULL,
	       "warn 0xa: rank 0 (10.0.0.0, pid 47), rank 1 (10.0.0.1, pid 47) are still "
	       "connecting, or failed: NCCL says code 3 (internal error) of a split that is not "
	       "set up yet, too -> ncclwhy --live=node1:28029   # again in a minute\n");
	expect(split, WELL, NULL, NULL, "pass 0xa: all 2 ranks are there and the job moves\n");
	expect(failed, failed, "LIVE-003", "read that rank's log, on 10.0.0.1",
	       "fail 0xa: rank 1 (10.0.0.1, pid 47) reports an asynchronous error (code 3: "
	       "internal "
	       "error) -> NCCL_DEBUG=INFO COMMAND 2>&1 | ncclwhy\n");
	expect(text, text, NULL, NULL,
	       "warn #0-0 (aaaa) ERROR: Initialization errors on 4 ranks; 4 ranks reported "
	       "Internal "
	       "error: NCCL says so of a split that is not set up yet, too -> ncclwhy "
	       "--live=node1:28029   # again in a minute\n");
	expect(TEXT("", ""), text, NULL, NULL,
	       "pass all: NCCL reports no missing rank and no standing mismatch: the job moves\n");
}

static void the_later_answer_counts(void **state UNUSED)
{
	static const char late[] = PAIR(RANK(0, 0, 0, 5), RANK(1, 0, 6, 5));
	static const char behind[] = PAIR(RANK(0, 0, 0, 5), RANK(1, 0, 0, 4));

	expect(WELL, late, "LIVE-003", "read that rank's log, on 10.0.0.1",
	       "fail 0xa: rank 1 (10.0.0.1, pid 47) reports an asynchronous error (code 6: remote "
	       "error) -> NCCL_DEBUG=INFO COMMAND 2>&1 | ncclwhy\n");
	expect(behind, behind, "LIVE-002", "ncclwhy --live=node1:28029   # again in a minute",
	       "fail 0xa: rank 1 (10.0.0.1, pid 47) called AllReduce 4 times, 1 other rank up to 5 "
	       "times: it is behind -> ncclwhy --stacks --hosts 10.0.0.1   # where does it "
	       "stand?\n");
	expect(behind, NULL, "LIVE-002", "ncclwhy --live=node1:28029   # again in a minute",
	       "fail 0xa: rank 1 (10.0.0.1, pid 47) called AllReduce 4 times, 1 other rank up to 5 "
	       "times: it is behind -> ncclwhy --stacks --hosts 10.0.0.1   # where does it "
	       "stand?\n");
	/* cut off, the second one is no answer */
	expect(WELL, "{\"communicators\": [", NULL, NULL, "pass 0xa: all 2 ranks are there\n");
	expect("{\"communicators\": [", WELL, NULL, NULL, "pass 0xa: all 2 ranks are there\n");
}

static void a_new_communicator_is_not_behind(void **state UNUSED)
{
	expect(JOB(COMM("0xb", RANK(0, 0, 0, 5))), PAIR(RANK(0, 0, 0, 1), RANK(1, 0, 0, 0)), NULL,
	       NULL, "pass 0xa: all 2 ranks are there and the job moves\n");
}

static void ranks_go_by_their_numbers(void **state UNUSED)
{
	static const char before[] = PAIR(RANK(0, 0, 0, 5), RANK(1, 0, 0, 4));
	static const char other_way_round[] = PAIR(RANK(1, 0, 0, 4), RANK(0, 0, 0, 5));

	expect(before, other_way_round, "LIVE-002",
	       "ncclwhy --live=node1:28029   # again in a minute",
	       "fail 0xa: rank 1 (10.0.0.1, pid 47) called AllReduce 4 times, 1 other rank up to 5 "
	       "times: it is behind -> ncclwhy --stacks --hosts 10.0.0.1   # where does it "
	       "stand?\n");
}

static void the_host_of_a_dead_rank_is_in_what_to_type(void **state UNUSED)
{
	static const char dead[] =
		JOB("{\"hash\":\"0xa\",\"size\":2,\"ranks_count\":1,\"ranks\":[" RANK(
			0, 0, 0, 5) "],\"missing_ranks\":[{\"rank\":1,\"host\":\"10.0.0.1\","
				    "\"pid\":47,\"status\":{\"considered_dead\":true}}]}");

	expect(dead, dead, "LIVE-001", "ssh 10.0.0.1 dmesg -T | tail",
	       "fail 0xa: rank 1 (10.0.0.1, pid 47) is dead; 1 ranks of 2 wait for it -> read that "
	       "rank's log and its host's dmesg; then start the job again\n");
}

static void timeouts_of_the_service_are_no_cause(void **state UNUSED)
{
	static const char late[] = "{\"communicators\":[" COMM(
		"0xa", RANK(0, 0, 0, 5) "," RANK(1, 0, 0, 5)) "],\"ras\":{\"timeouts_count\":1}}";

	expect(late, late, NULL, NULL,
	       "warn timeouts: NCCL's service encountered 1 communication timeout: what it says "
	       "may "
	       "lack ranks -> ncclwhy --live=node1:28029   # again in a minute\n"
	       "pass 0xa: all 2 ranks are there, but no collective was called within a second: "
	       "busy elsewhere, or all wait for the same thing\n");
}

/* --- text -------------------------------------------------------------------------- */

/* What "#0-0" numbers may be another one a second later. */
static void a_mismatch_goes_by_the_hash(void **state UNUSED)
{
	static const char before[] =
		TEXT("", "#0-0 (aaaa) MISMATCH\n" DIFFERENT("AllReduce") COUNTS(641, 640));
	static const char after[] =
		TEXT("", "#0-0 (bbbb) MISMATCH\n" DIFFERENT("AllReduce")
				 COUNTS(8, 7) "#1-0 (aaaa) MISMATCH\n" DIFFERENT("AllReduce")
					 COUNTS(641, 640));

	expect(before, after, "LIVE-002", "ncclwhy --live=node1:28029   # again in a minute",
	       "fail #1-0 (aaaa) MISMATCH: Communicator ranks have different AllReduce operation "
	       "counts; 3 ranks have launched up to operation 641; Rank 3 has launched up to "
	       "operation 640 -- GPU 3 managed by process 47 on node 10.0.0.3 -> ncclwhy --stacks "
	       "--hosts 10.0.0.3   # where does it stand?\n");
	expect(before, TEXT("", "#1-0 (aaaa) MISMATCH\n" DIFFERENT("AllReduce") COUNTS(642, 641)),
	       NULL, NULL,
	       "pass all: NCCL reports no missing rank and no standing mismatch: the job "
	       "moves\n");
}

static void all_operations_of_a_mismatch_are_heard(void **state UNUSED)
{
	static const char two[] = TEXT("", "#0-0 (aaaa) MISMATCH\n" DIFFERENT("Broadcast") COUNTS(
						   2, 1) DIFFERENT("AllReduce") COUNTS(641, 640));
	static const char moved[] = TEXT("", "#0-0 (aaaa) MISMATCH\n" DIFFERENT("Broadcast") COUNTS(
						     2, 1) DIFFERENT("AllReduce") COUNTS(642, 641));
	AUTO(arena_done) struct arena a = {0};
	cJSON *doc;

	assert_non_null(
		strstr(said(&a, two, two, &doc),
		       "different Broadcast operation counts; 3 ranks have launched up to "
		       "operation 2; Rank 3 has launched up to operation 1 -- GPU 3 managed "
		       "by process 47 on node 10.0.0.3; Communicator ranks have different "
		       "AllReduce operation counts; 3 ranks"));
	cJSON_Delete(doc);
	expect(two, moved, NULL, NULL,
	       "pass all: NCCL reports no missing rank and no standing mismatch: the job moves\n");
}

static void the_word_in_the_head_says_which_cause(void **state UNUSED)
{
	static const char failed[] = TEXT(
		"#0-0 (aaaa) ERROR\n  Initialization error on 1 rank\n  Rank 3 reported Unhandled "
		"system error -- GPU 3 managed by process 47 on node 10.0.0.3\n\n",
		"");
	static const char dead[] = TEXT(
		"DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n  "
		"Process 47 on node 10.0.0.3 managing GPU 3\n\n",
		"");
	static const char late[] = TEXT("", "TIMEOUT\n  Encountered 1 communication timeout while "
					    "gathering communicator data\n\n");

	expect(failed, failed, "LIVE-003", "read that rank's log, on 10.0.0.3",
	       "fail #0-0 (aaaa) ERROR: Initialization error on 1 rank; Rank 3 reported Unhandled "
	       "system error -- GPU 3 managed by process 47 on node 10.0.0.3 -> NCCL_DEBUG=INFO "
	       "COMMAND 2>&1 | ncclwhy\n");
	expect(dead, dead, "LIVE-001", "ssh 10.0.0.3 dmesg -T | tail",
	       "fail DEAD: 1 job process is considered dead (unreachable via the RAS network); "
	       "Process 47 on node 10.0.0.3 managing GPU 3 -> read that rank's log and its host's "
	       "dmesg; then start the job again\n");
	expect(late, late, NULL, NULL,
	       "warn timeouts: NCCL's service encountered 1 communication timeout: what it says "
	       "may "
	       "lack ranks -> ncclwhy --live=node1:28029   # again in a minute\n"
	       "pass all: NCCL reports no missing rank and no mismatch\n");
}

static void no_communicator_is_neither_health_nor_an_error(void **state UNUSED)
{
	static const char want[] =
		"warn all: there is no communicator: the job still starts, has ended, or uses no "
		"NCCL -> ncclwhy --live=node1:28029   # again in a minute\n";
	static const char text[] =
		"NCCL version 2.26.2 compiled with CUDA 12.6\n\nCommunicators... (0.00s)\n"
		"=============\n\nNo communicator data collected!\n\nErrors\n======\n\n"
		"Warnings\n========\n\n";

	expect(JOB(""), JOB(""), NULL, NULL, want);
	expect(text, text, NULL, NULL, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_communicator_that_failed_to_initialise_is_an_error),
		cmocka_unit_test(who_connects_in_both_answers_is_named),
		cmocka_unit_test(an_internal_error_may_be_a_split_that_connects),
		cmocka_unit_test(the_later_answer_counts),
		cmocka_unit_test(a_new_communicator_is_not_behind),
		cmocka_unit_test(ranks_go_by_their_numbers),
		cmocka_unit_test(the_host_of_a_dead_rank_is_in_what_to_type),
		cmocka_unit_test(timeouts_of_the_service_are_no_cause),
		cmocka_unit_test(a_mismatch_goes_by_the_hash),
		cmocka_unit_test(all_operations_of_a_mismatch_are_heard),
		cmocka_unit_test(the_word_in_the_head_says_which_cause),
		cmocka_unit_test(no_communicator_is_neither_health_nor_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
