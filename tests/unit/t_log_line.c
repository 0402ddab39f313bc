/* What stands before a message, and the times that logs are stamped with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/log/line.h"
#include "probes/log/tested.h"

static const struct {
	const char *raw, *body, *host;
	int rank, local;
	long pid;
	enum clock_kind clock;
} prefixes[] = {
	{"[rank3]: boom", "boom", "", 3, -1, 0, 0},
	{"(W pid=7, ip=10.0.0.2) boom [repeated 2x across cluster]", "boom", "10.0.0.2", -1, -1, 7,
	 0},
	{"Fri Aug 11 12:31:45 2023[1,3]<stdout>:n401:1850304:1881110 [5] NCCL WARN boom",
	 "NCCL WARN boom", "n401", 3, 5, 1850304, CLOCK_KIND_DATE},
	{"2025-04-04T16:57:57.7153695Z [2025-04-04 16:57:39] ip-10-0-9-1:95:98 [0] boom", "boom",
	 "ip-10-0-9-1", -1, 0, 95, CLOCK_KIND_WORLD},
	{"[rank12]:[E1015 13:20:53.123456789 ProcessGroupNCCL.cpp:616] [Rank 12] boom", "boom", "",
	 12, -1, 0, CLOCK_KIND_DAY},
	{"[rank0]:[W703 00:59:30.440443364 x.cpp:9] boom", "boom", "", 0, -1, 0, CLOCK_KIND_DAY},
	{"[default2]:boom", "boom", "", -1, 2, 0, 0},
	{"[1,5]<stderr>:boom", "boom", "", 5, -1, 0, 0},
	{"[prterun-node1-77@1,3]<stdout>: boom", "boom", "", 3, -1, 0, 0},
	{"7: boom", "boom", "", 7, -1, 0, 0},
	{"0: [rank3]: boom", "boom", "", 3, -1, 0, 0},
	{"1: [default3]:[rank11]: boom", "boom", "", 11, 3, 0, 0},
	{"1: [default3]:boom", "boom", "", -1, 3, 0, 0},
	{"[1,0]<stderr>: [rank3]: boom", "boom", "", 3, -1, 0, 0},
	{"0: [1,2]<stderr>: boom", "boom", "", 2, -1, 0, 0},
	{"[rank3]: 0: boom", "boom", "", 3, -1, 0, 0},
	{"rank0: boom", "boom", "", 0, -1, 0, 0},
	{"0: Rank-12: boom", "boom", "", 12, -1, 0, 0},
	{"node7: rank3: boom", "boom", "node7", 3, -1, 0, 0},
	{"python3: error: boom", "python3: error: boom", "", -1, -1, 0, 0},
	{"cuda0: boom", "cuda0: boom", "", -1, -1, 0, 0},
	{"step-1200: boom", "step-1200: boom", "", -1, -1, 0, 0},
	{"model.layers.0.mlp: boom", "model.layers.0.mlp: boom", "", -1, -1, 0, 0},
	{"ib0: boom", "ib0: boom", "", -1, -1, 0, 0},
	{"ibm7: boom", "boom", "ibm7", -1, -1, 0, 0},
	{"[12345.678901] nvidia-nvswitch0: SXid boom", "nvidia-nvswitch0: SXid boom", "", -1, -1, 0,
	 CLOCK_KIND_UPTIME},
	{"[Wed Oct 15 13:20:53 2025] foo7: boom", "foo7: boom", "", -1, -1, 0, CLOCK_KIND_DATE},
	{"node3: [12345.678901] foo7: boom", "foo7: boom", "node3", -1, -1, 0, CLOCK_KIND_UPTIME},
	{"Oct 15 13:20:53 gpu7 kernel: foo7: boom", "foo7: boom", "gpu7", -1, -1, 0,
	 CLOCK_KIND_DAY},
	{"[2025-10-15 13:20:53] node7: boom", "boom", "node7", -1, -1, 0, CLOCK_KIND_DATE},
	{" 7: node1:11:12 [4] NCCL WARN boom", "NCCL WARN boom", "node1", 7, 4, 11, 0},
	{"node1:4711:4720 [2] NCCL WARN boom", "NCCL WARN boom", "node1", -1, 2, 4711, 0},
	{"[3] node2:22556:22560 [1] NCCL WARN boom", "NCCL WARN boom", "node2", 3, 1, 22556, 0},
	{"[node2] node2:22556:22560 [1] NCCL WARN boom", "NCCL WARN boom", "node2", -1, 1, 22556,
	 0},
	{"vm2> vm-east-2:556:560 [1] NCCL WARN boom", "NCCL WARN boom", "vm-east-2", -1, 1, 556, 0},
	{"[node2] boom", "[node2] boom", "", -1, -1, 0, 0},
	{"[trainer3]:tw1016:1958:1958 [3] NCCL INFO boom", "NCCL INFO boom", "tw1016", -1, 3, 1958,
	 0},
	{"ip-10-0-0-1:4711:4720 NCCL INFO boom", "NCCL INFO boom", "ip-10-0-0-1", -1, -1, 4711, 0},
	{"10.10.23.10: so-1:13:14 [0] x.cc:1 NCCL WARN boom", "x.cc:1 NCCL WARN boom",
	 "10.10.23.10", -1, 0, 13, 0},
	{"node1: boom", "boom", "node1", -1, -1, 0, 0},
	{"slurmstepd-node1: error: boom", "error: boom", "node1", -1, -1, 0, 0},
	{"[rank1]:[F1122 23:48:55.017893221 x.cpp:1584] Check failed: boom", "Check failed: boom",
	 "", 1, -1, 0, CLOCK_KIND_DAY},
	{"[2025-10-15 13:20:53] node1 kernel: boom", "boom", "node1", -1, -1, 0, CLOCK_KIND_DATE},
	{"[2025-10-15 13:20:53] Exit code: boom", "Exit code: boom", "", -1, -1, 0,
	 CLOCK_KIND_DATE},
	{"2025-10-15T13:20:53 gpunode slurmd[77]: boom", "boom", "gpunode", -1, -1, 0,
	 CLOCK_KIND_DATE},
	{"worker-1  | boom", "boom", "worker-1", -1, -1, 0, 0},
	{"v2.api.TrainError: boom", "v2.api.TrainError: boom", "", -1, -1, 0, 0},
	{"net/tcp/pair4.cc: boom", "net/tcp/pair4.cc: boom", "", -1, -1, 0, 0},
	{"[rank2]: EJ0001: [PID: 7] boom", "EJ0001: [PID: 7] boom", "", 2, -1, 0, 0},
	{"EJ0001: [pid 7] boom", "[pid 7] boom", "EJ0001", -1, -1, 0, 0},
	{"(RayWorker pid=4009, ip=10.0.0.7) boom", "boom", "10.0.0.7", -1, -1, 4009, 0},
	{"(EngineCore pid=12) ERROR 07-01 12:00:00 [core.py:1] boom", "boom", "", -1, -1, 12,
	 CLOCK_KIND_DAY},
	{"\033[36m[rank1]:\033[0m boom\r", "boom", "", 1, -1, 0, 0},
	{"[2025-10-15 13:20:53] boom", "boom", "", -1, -1, 0, CLOCK_KIND_DATE},
	{"[2025-10-15 13:20:53,123][root][INFO] boom", "[root][INFO] boom", "", -1, -1, 0,
	 CLOCK_KIND_DATE},
	{"2025-10-15T13:20:53.5+02:00 boom", "boom", "", -1, -1, 0, CLOCK_KIND_WORLD},
	{"10/15/2025 13:20:53 boom", "boom", "", -1, -1, 0, CLOCK_KIND_DATE},
	{"[Wed Oct 15 13:20:53 2025] NVRM: boom", "NVRM: boom", "", -1, -1, 0, CLOCK_KIND_DATE},
	{"Oct  5 13:20:53 gpu7 kernel: [ 99.5] NVRM: boom", "NVRM: boom", "gpu7", -1, -1, 0,
	 CLOCK_KIND_DAY},
	{"Oct 15 13:20:53 gpu7 slurmd[44]: boom", "boom", "gpu7", -1, -1, 0, CLOCK_KIND_DAY},
	{"Oct 15 13:20:53 gpunode train: boom", "boom", "gpunode", -1, -1, 0, CLOCK_KIND_DAY},
	{"[12345.678901] NVRM: boom", "NVRM: boom", "", -1, -1, 0, CLOCK_KIND_UPTIME},
	{"RuntimeError: boom", "RuntimeError: boom", "", -1, -1, 0, 0},
	{"{\"log\":\"[rank3]: boom\\n\",\"stream\":\"stderr\",\"time\":\"2025-10-15T13:20:53.1Z\"}",
	 "boom", "", 3, -1, 0, CLOCK_KIND_WORLD},
	{"{\"_HOSTNAME\": \"gpu7\", \"PRIORITY\":\"3\", \"MESSAGE\": \"NVRM: \\\"boom\\\"\"}",
	 "NVRM: \"boom\"", "gpu7", -1, -1, 0, 0},
	{"{\"level\":\"error\",\"rank\":5,\"msg\":\"\\u001b[31mboom\\u001b[0m\"}", "boom", "", 5,
	 -1, 0, 0},
	{"{\"message\":\"Traceback (most recent call last):\\n  File x\\nKeyError: 'y'\\n\"}",
	 "KeyError: 'y' | Traceback (most recent call last):   File x", "", -1, -1, 0, 0},
	{"{\"log\":\"cut off here", "cut off here", "", -1, -1, 0, 0},
	{"{'loss': 1.5, 'epoch': 0.1}", "{'loss': 1.5, 'epoch': 0.1}", "", -1, -1, 0, 0},
	{"      \"\\u001b[0;31mRuntimeError\\u001b[0m: boom\\n\",", "RuntimeError: boom", "", -1,
	 -1, 0, 0},
	{"2025-10-15T13:20:53.123456789Z stderr F boom", "boom", "", -1, -1, 0, CLOCK_KIND_WORLD},
	{"[pod/train-worker-0/pytorch] [rank8]: boom", "boom", "train-worker-0", 8, -1, 0, 0},
	{"train/0 [default1]:[rank1]: boom", "boom", "", 1, 1, 0, 0},
	{"<11>Oct 15 13:20:53 gpu7 slurmd[44]: boom", "boom", "gpu7", -1, -1, 0, CLOCK_KIND_DAY},
	{"> boom", "boom", "", -1, -1, 0, 0},
	{"\xe2\x94\x82 RuntimeError: boom     \xe2\x94\x82", "RuntimeError: boom", "", -1, -1, 0,
	 0},
	{"HEAD: HEAD:4711:4712 [2] NCCL WARN boom", "NCCL WARN boom", "HEAD", -1, 2, 4711, 0},
	{"stderr: [rank2]: boom", "boom", "", 2, -1, 0, 0},
	{"socket.cc:12: boom", "socket.cc:12: boom", "", -1, -1, 0, 0},
	{"[0] misc/socket.cc:533 NCCL WARN boom", "[0] misc/socket.cc:533 NCCL WARN boom", "", -1,
	 -1, 0, 0},
	{"2026-09-05 17:34:36.549102: E external/xla/gpu.cc:414] boom", "boom", "", -1, -1, 0,
	 CLOCK_KIND_DATE},
	{"2026-09-05 17:34:36: everything is well", "everything is well", "", -1, -1, 0,
	 CLOCK_KIND_DATE},
	{"Map:  9%|#   | 2/9 [29:55<4:48:08, 1.5 examples/s][rank1]:[W516 14:34:56.8 x.cpp:4] boom",
	 "boom", "", 1, -1, 0, CLOCK_KIND_DAY},
	{"[rank0]: Epoch 1:  9%|#   | 2/9 [00:01<00:04, 1.5it/s, loss=2]RuntimeError: boom",
	 "RuntimeError: boom", "", 0, -1, 0, 0},
	{"[rank0]: Epoch 1:  9%|#   | 2/9 [00:01<00:04, 1.5it/s]",
	 "Epoch 1:  9%|#   | 2/9 [00:01<00:04, 1.5it/s]", "", 0, -1, 0, 0},
	{"9%| is no bar: boom", "9%| is no bar: boom", "", -1, -1, 0, 0},
	{"", "", "", -1, -1, 0, 0},
	{"[", "[", "", -1, -1, 0, 0},
	{"[[[[", "[[[[", "", -1, -1, 0, 0},
};

static void prefixes_are_understood(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		struct log_line l;

		line_parse(prefixes[i].raw, strlen(prefixes[i].raw), &l);
		if (!streq(l.body, prefixes[i].body) || !streq(l.who.host, prefixes[i].host) ||
		    l.who.rank != prefixes[i].rank || l.who.local != prefixes[i].local ||
		    l.who.pid != prefixes[i].pid || l.clock != prefixes[i].clock)
			fail_msg("%s: body '%s' host '%s' rank %d local %d pid %ld clock %d",
				 prefixes[i].raw, l.body, l.who.host, l.who.rank, l.who.local,
				 l.who.pid, (int)l.clock);
	}
}

static int64_t at(const char *raw)
{
	struct log_line l;

	line_parse(raw, strlen(raw), &l);
	return l.time_ms;
}

static void times_order(void **state UNUSED)
{
	assert_int_equal(at("[2025-10-15 13:20:53.250] x") - at("[2025-10-15 13:20:53] x"), 250);
	assert_int_equal(at("[2025-10-16 00:00:00] x") - at("[2025-10-15 23:59:59] x"), 1000);
	assert_int_equal(at("[2025-03-01 00:00:00] x") - at("[2025-02-28 00:00:00] x"), 86400000);
	assert_int_equal(at("[2024-03-01 00:00:00] x") - at("[2024-02-28 00:00:00] x"),
			 2 * 86400000);
	assert_int_equal(at("2025-10-15T13:30:00+02:00 x"), at("2025-10-15T11:30:00Z x"));
	assert_int_equal(at("2025-10-15T00:30:00.5-0700 x"), at("2025-10-15T07:30:00.5+00 x"));
	assert_int_equal(at("2025-10-15T23:30:00-05:30 x"), at("2025-10-16T05:00:00Z x"));
	assert_int_equal(at("[Wed Oct 15 13:20:53 2025] x"), at("2025-10-15 13:20:53 x"));
	assert_int_equal(at("Oct 15 13:20:53 h kernel: x"), at("E1015 13:20:53 7 f.cpp:1] x"));
}

static void long_and_binary_lines_are_cut(void **state UNUSED)
{
	static char big[3 * LINE_MAX_TEXT];
	struct log_line l;

	memset(big, 'x', sizeof(big));
	line_parse(big, sizeof(big), &l);
	assert_int_equal(strlen(l.text), LINE_MAX_TEXT - 1);
	memset(big, 0, sizeof(big));
	line_parse(big, sizeof(big), &l);
	assert_string_equal(l.text, "");
	line_parse("a\0b\033[31mc\033]0;title\ad", 20, &l);
	assert_string_equal(l.text, "a bcd");
}

/* Wherever it stands: text is gone through in words. */
static void control_characters_are_found_anywhere(void **state UNUSED)
{
	enum { SIZE = 40 };
	char raw[SIZE], want[SIZE + 1];
	struct log_line l;

	for (int c = 0; c < 256; c++)
		for (size_t i = 0; i < SIZE - 1; i++) {
			bool is_plain = c >= ' ' && c != 0x7f;

			if (c == '\033' || c == '\r')
				continue;
			memset(raw, (i & 1) ? '~' : '\xff', SIZE);
			memset(want, (i & 1) ? '~' : '\xff', SIZE);
			raw[i] = (char)c;
			want[i] = is_plain ? (char)c : ' ';
			want[SIZE] = '\0';
			line_clean(raw, SIZE, &l);
			assert_string_equal(l.text, want);
		}
}

/* Who asks for the text alone gets the same later. */
static void two_steps_are_one(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		struct log_line once, twice;

		line_parse(prefixes[i].raw, strlen(prefixes[i].raw), &once);
		line_clean(prefixes[i].raw, strlen(prefixes[i].raw), &twice);
		assert_null(twice.body);
		line_place(&twice);
		line_place(&twice);
		assert_string_equal(twice.text, once.text);
		assert_int_equal(twice.body - twice.text, once.body - once.text);
		assert_int_equal(twice.who.rank, once.who.rank);
		assert_int_equal(twice.time_ms, once.time_ms);
	}
}

static void runners_of_tests_are_understood(void **state UNUSED)
{
	static const struct {
		const char *text;
		bool well;
		int sum;
	} all[] = {
		{"tests/t_a.py::test_b PASSED   # NCCL error", true, -1},
		{"[rank3]: [gw1] [ 40%] PASSED tests/t_a.py::test_b[x y]", true, -1},
		{"XFAIL tests/t_a.py::test_b - CUDA error", true, -1},
		{"tests/t_a.py::test_b FAILED", false, -1},
		{"FAILED tests/t_a.py::test_b - test_c PASSED", false, -1},
		{"RuntimeError: CUDA error in c10::x PASSED", false, -1},
		{"PASSED the gate: std::bad_alloc", false, -1},
		{"ok 12 - says CUDA error", true, -1},
		{"not ok 12 - says CUDA error", false, -1},
		{"test_error (mod.Case) ... ok", true, -1},
		{"test_error (mod.Case) ... ERROR", false, -1},
		{" 2/7 Test #2: error .....   Passed    0.31 sec", true, -1},
		{" 2/7 Test #2: error .....***Failed    0.31 sec", false, -1},
		{"===== 3 passed, 4 warnings in 61.20s (0:01:01) =====", false, 0},
		{"===== 1 failed, 3 passed in 6.20s =====", false, 1},
		{"2 passed, 1 error in 6.20s", false, 1},
		{"1 error in 0.20s", false, 1},
		{"3 skipped in 0.20s", false, -1},
		{"ranks: 3 passed in 5 seconds", false, -1},
		{"100% tests passed, 0 tests failed out of 10", false, 0},
		{"90% tests passed, 1 tests failed out of 10", false, 1},
	};
	struct log_line l;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		line_parse(all[i].text, strlen(all[i].text), &l);
		if (tested_well(&l) != all[i].well || tested_sum(&l) != all[i].sum)
			fail_msg("%s: %d, %d", all[i].text, tested_well(&l), tested_sum(&l));
	}
}

/* A line of JSON is where it is: what is behind its end is another's. */
static void json_ends_where_it_ends(void **state UNUSED)
{
	static const char raw[] = "{\"message\":\"boom\",\"rank\":123456";
	struct log_line l;

	line_parse(raw, sizeof(raw) - 1 - strlen("3456"), &l);
	assert_string_equal(l.body, "boom");
	assert_int_equal(l.who.rank, 12);
}

static void hosts_fit_to_the_end_of_a_label(void **state UNUSED)
{
	static const struct {
		const char *a, *b;
		bool fit;
	} all[] = {{"", "", true},
		   {"", "node1", true},
		   {"node1", "node1", true},
		   {"node1", "node1.cluster", true},
		   {"node1", "node10", false},
		   {"node1", "node1-ib", false},
		   {"10.0.0.1", "10.0.0.10", false},
		   {"node1.a", "node1.b", false},
		   {"node1", "node2", false}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(log_hosts_fit(all[i].a, all[i].b), all[i].fit);
		assert_int_equal(log_hosts_fit(all[i].b, all[i].a), all[i].fit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_are_understood),
		cmocka_unit_test(json_ends_where_it_ends),
		cmocka_unit_test(hosts_fit_to_the_end_of_a_label),
		cmocka_unit_test(times_order),
		cmocka_unit_test(long_and_binary_lines_are_cut),
		cmocka_unit_test(control_characters_are_found_anywhere),
		cmocka_unit_test(two_steps_are_one),
		cmocka_unit_test(runners_of_tests_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
