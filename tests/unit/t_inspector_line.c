/* Lines of what NCCL's Inspector recorded: whole, cut, verbose, of all its versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/inspector/line.h"

#include <math.h>

#define HEADER                                                                                     \
	"{\"header\":{\"id\":\"0x7f8c\",\"comm_name\":\"DP \\\"0\\\"\",\"rank\":2,\"n_ranks\":8,"  \
	"\"nnodes\":1},\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":"    \
	"\"\","                                                                                    \
	"\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":1748030377748202,"    \
	"\"hostname\":\"node0\",\"pid\":1639453},"
#define COLL                                                                                       \
	"\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":1407,\"coll_msg_size_bytes\":"          \
	"17179869184,"                                                                             \
	"\"coll_exec_time_us\":61974,\"coll_timing_source\":\"kernel_gpu\","                       \
	"\"coll_algobw_gbs\":277.210914,\"coll_busbw_gbs\":485.119099"

static bool line(const char *text, struct insp_record *ret)
{
	return insp_line(text, strlen(text), ret);
}

static bool is(struct insp_text t, const char *s)
{
	return strlen(s) == t.n && !memcmp(t.s, s, t.n);
}

static void a_collective(void **state)
{
	struct insp_record r;

	(void)state;
	assert_true(line(HEADER COLL "}}", &r));
	assert_true(is(r.comm, "0x7f8c") && is(r.host, "node0") && is(r.coll, "AllReduce"));
	assert_true(is(r.name, "DP \\\"0\\\"") && is(r.timing, "kernel_gpu") && !r.p2p);
	assert_true(r.rank == 2 && r.ranks == 8 && r.hosts == 1 && r.pid == 1639453);
	assert_true(r.sn == 1407 && r.bytes == 17179869184.0 && r.us == 61974);
	assert_true(fabs(r.busbw - 485.119099) < 1e-9 && r.at_us == 1748030377748202.0);
	/* verbose, with blanks, an order of its own, a number that is none */
	assert_true(line(HEADER COLL ",\"event_trace_sn\":{\"coll_start_sn\":1,\"kernel_events\":[{"
				     "\"channel_id\":0,\"rank\":7}]}}} \r",
			 &r));
	assert_int_equal(r.rank, 2);
	assert_true(line("{ \"coll_perf\" : { \"coll\" : \"Reduce\", \"coll_sn\":0,"
			 "\"coll_busbw_gbs\":\"nan\",\"coll_exec_time_us\":1.5e2 },\"header\":"
			 "{\"rank\":0,\"n_ranks\":1,\"nnodes\":1,\"id\":\"a\"},\"hostname\":\"\"}",
			 &r));
	assert_true(isnan(r.busbw) && isnan(r.bytes) && isnan(r.at_us) && r.us == 150);
	assert_true(line(HEADER "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":3,\"p2p_peer\":-1,"
				"\"p2p_msg_size_bytes\":9,\"p2p_exec_time_us\":7,"
				"\"p2p_busbw_gbs\":0.5}}",
			 &r));
	assert_true(r.p2p && is(r.coll, "Send") && r.sn == 3 && r.bytes == 9 && r.busbw == 0.5);
}

static void no_collective(void **state)
{
	const char whole[] = HEADER COLL "}}";
	struct insp_record r;

	(void)state;
	for (size_t n = 0; n + 2 < sizeof(whole); n++)
		if (insp_line(whole, n, &r))
			fail_msg("cut after %zu", n);
	assert_false(insp_line("{\"header\":\0}", 13, &r));
	assert_false(line("{\"id\":\"a\",\"rank\":8,\"n_ranks\":8,\"nnodes\":1,\"hostname\":\"h\","
			  "\"coll\":\"Reduce\",\"coll_sn\":1}",
			  &r));
	assert_false(line("{\"id\":\"a\",\"rank\":0,\"n_ranks\":2,\"nnodes\":3,\"hostname\":\"h\","
			  "\"coll\":\"Reduce\",\"coll_sn\":1}",
			  &r));
	assert_false(
		line("{\"id\":\"a\",\"rank\":0,\"n_ranks\":2e99,\"nnodes\":1,\"hostname\":\"h\","
		     "\"coll\":\"Reduce\",\"coll_sn\":1}",
		     &r));
	assert_false(line(HEADER COLL ",\"coll_busbw_gbs\":1e400}}", &r));
	assert_false(line(HEADER COLL ",\"pid\":1e300}}", &r));
	assert_false(line(HEADER COLL ",\"coll_msg_size_bytes\":8e15}}", &r)); /* of eight ranks */
}

static void kinds(void **state)
{
	const char prom[] = "# HELP\nnccl_bus_bandwidth_gbs{version=\"v5.1\"} 678.263\n";
	const char theirs[] = "{\"version\": 2, \"args\": []}",
		   json[] = "\xef\xbb\xbf " HEADER COLL, cut[] = "7.2}}\n" HEADER COLL,
		   hole[] = "\0\0\0" HEADER COLL, said[] = "we saw\nthat " HEADER COLL;

	(void)state;
	assert_int_equal(insp_kind(prom, sizeof(prom) - 1), INSP_PROMETHEUS);
	assert_int_equal(insp_kind(theirs, sizeof(theirs) - 1), INSP_NONE);
	assert_int_equal(insp_kind(json, sizeof(json) - 1), INSP_JSON);
	assert_int_equal(insp_kind(json, 3), INSP_NONE);
	assert_int_equal(insp_kind("", 1), INSP_NONE);
	assert_int_equal(insp_kind(cut, sizeof(cut) - 1), INSP_JSON);
	assert_int_equal(insp_kind(hole, sizeof(hole) - 1), INSP_JSON);
	assert_int_equal(insp_kind(said, sizeof(said) - 1), INSP_NONE);
	assert_int_equal(insp_kind("", 0), INSP_NONE);
}

/* The newest NCCL begins each dump with what it wrote, and what it had no room for. */
static void what_a_dump_lost(void **state)
{
	struct insp_record r;
	double lost = 1;

#define LOST(coll, p2p)                                                                            \
	HEADER "\"dump_stats\":{\"coll_records\":9,\"coll_dropped_total\":77,"                     \
	       "\"coll_dropped_since_last_dump\":" coll ",\"p2p_records\":0,"                      \
	       "\"p2p_dropped_total\":8,\"p2p_dropped_since_last_dump\":" p2p "}}"
	(void)state;
	assert_false(line(LOST("40", "2"), &r));
	assert_true(insp_drops(LOST("40", "2"), strlen(LOST("40", "2")), &lost) && lost == 42);
	assert_true(insp_drops(LOST("0", "0"), strlen(LOST("0", "0")), &lost) && lost == 0);
	assert_false(insp_drops(HEADER COLL "}}", strlen(HEADER COLL "}}"), &lost));
	assert_false(insp_drops(LOST("1e400", "0"), strlen(LOST("1e400", "0")), &lost));
	assert_false(insp_drops(LOST("4", "2"), strlen(LOST("4", "2")) - 2, &lost));
	assert_int_equal(insp_kind(LOST("0", "0"), strlen(LOST("0", "0"))), INSP_JSON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_collective),
		cmocka_unit_test(no_collective),
		cmocka_unit_test(kinds),
		cmocka_unit_test(what_a_dump_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
