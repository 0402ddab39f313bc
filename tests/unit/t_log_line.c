/* What stands before a message, and the times that logs are stamped with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/log/extract.h"
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
	 "ip-10-0-9-1", -1, 0, 95, CLOCK_KIND_DATE},
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
	{"2025-10-15T13:20:53.5+02:00 boom", "boom", "", -1, -1, 0, CLOCK_KIND_DATE},
	{"10/15/2025 13:20:53 boom", "boom", "", -1, -1, 0, CLOCK_KIND_DATE},
	{"[Wed Oct 15 13:20:53 2025] NVRM: boom", "NVRM: boom", "", -1, -1, 0, CLOCK_KIND_DATE},
	{"Oct  5 13:20:53 gpu7 kernel: [ 99.5] NVRM: boom", "NVRM: boom", "gpu7", -1, -1, 0,
	 CLOCK_KIND_DAY},
	{"Oct 15 13:20:53 gpu7 slurmd[44]: boom", "boom", "gpu7", -1, -1, 0, CLOCK_KIND_DAY},
	{"Oct 15 13:20:53 gpunode train: boom", "boom", "gpunode", -1, -1, 0, CLOCK_KIND_DAY},
	{"[12345.678901] NVRM: boom", "NVRM: boom", "", -1, -1, 0, CLOCK_KIND_UPTIME},
	{"RuntimeError: boom", "RuntimeError: boom", "", -1, -1, 0, 0},
	{"{\"log\":\"[rank3]: boom\\n\",\"stream\":\"stderr\",\"time\":\"2025-10-15T13:20:53.1Z\"}",
	 "boom", "", 3, -1, 0, CLOCK_KIND_DATE},
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
	{"2025-10-15T13:20:53.123456789Z stderr F boom", "boom", "", -1, -1, 0, CLOCK_KIND_DATE},
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

static const struct {
	const char *line, *addr, *port, *iface, *name;
	enum trust trust;
} named[] = {
	{"Connect to 128::1d<42538> returned 113", "128::1d", "42538", "", "", 0},
	{"Connect to 10.0.0.2<42538> failed", "10.0.0.2", "42538", "", "", 0},
	{"Connect to fe80::1%ib0<4> failed", "fe80::1%ib0", "4", "", "", 0},
	{"remote=[127.0.0.1]:41233", "127.0.0.1", "41233", "", "", 0},
	{"trying to connect to (10.0.0.1, 29500).", "10.0.0.1", "29500", "", "", TRUST_PLAIN},
	{"to connect to (node7, 29500).", "node7", "29500", "", "", 0},
	{"remote=[node0]:29500): Connection reset", "node0", "29500", "", "", 0},
	{"[::ffff:10.0.0.9]:29500 (errno: 110)", "10.0.0.9", "29500", "", "", 0},
	{"any local network address. port: 29500, useIpv6: 0", "", "29500", "", "", 0},
	{"Using ens3:10.0.0.5<0>", "10.0.0.5", "", "ens3", "", 0},
	{"bind to [::]:29500 (errno: 98", "::", "29500", "", "", 0},
	{"misc/socket.cc:533 NCCL WARN x", "", "", "", "", 0},
	{"version 2.18.5", "", "", "", "", 0},
	{"any network address of (node0, 29500). The client socket has failed to connect to "
	 "88.85.0.0:63606 (errno: 113",
	 "node0", "29500", "", "", TRUST_PLAIN},
	{"connect/validate to host 10.77.9.9:29500 - retrying (try=0)", "10.77.9.9", "29500", "",
	 "", TRUST_PLAIN},
	{"connect/validate to host fd00::1:29500 - retrying", "fd00::1", "29500", "", "",
	 TRUST_PLAIN},
	{"trying to connect to (localhost, 0).", "localhost", "", "", "", TRUST_PLAIN},
	{"The client socket has failed to connect to 88.85.0.0:63606 (", "88.85.0.0", "63606", "",
	 "", TRUST_NONE},
	{"The client socket has failed to connect to [100::e073:0]:20 (", "100::e073:0", "20", "",
	 "", TRUST_DOUBT},
	{"The client socket has failed to connect to [10.0.0.5]:29500 (", "10.0.0.5", "29500", "",
	 "", TRUST_USUAL},
	{"The server socket has failed to bind to 0.0.0.0:29500 (", "0.0.0.0", "29500", "", "",
	 TRUST_USUAL},
	{"local=[127.0.0.1]:37551, remote=[127.0.1.1]:58256$0, error", "127.0.1.1", "58256", "", "",
	 0},
	{"addr=[localhost]:7707, remote=[node0]:29500) timed out", "node0", "29500", "", "", 0},
	{"read tcp 10.0.0.1:5000->10.0.0.2:6443: i/o timeout", "10.0.0.2", "6443", "", "", 0},
	{"IPv6 network addresses of (nodeX00, 29500) cannot be retrieved", "nodeX00", "29500", "",
	 "nodeX00", TRUST_PLAIN},
	{"ssh: Could not resolve hostname gpu77: Name or", "", "", "", "gpu77", 0},
	{"** server can't find node9.lan: NXDOMAIN", "", "", "", "node9.lan", 0},
	{"java.net.UnknownHostException: worker-3", "", "", "", "worker-3", 0},
	{"dial tcp: lookup train-0.svc on 10.0.0.10:53: no such host", "10.0.0.10", "53", "",
	 "train-0.svc", 0},
	{"getaddrinfo for 10.0.0.1 failed", "10.0.0.1", "", "", "", 0},
};

static void addresses_are_found(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		struct extract x;

		extract_line(named[i].line, &x);
		if (!streq(x.addr, named[i].addr) || !streq(x.port, named[i].port) ||
		    !streq(x.iface, named[i].iface) || !streq(x.name, named[i].name) ||
		    x.trust != named[i].trust)
			fail_msg("%s: addr '%s' port '%s' iface '%s' name '%s' trust %d",
				 named[i].line, x.addr, x.port, x.iface, x.name, (int)x.trust);
	}
}

static void templates_are_filled(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	const struct term_value v[] = {{"addr", "10.0.0.2"}, {"good", NULL}};
	const struct filling f = {&a, v, 2, "b(.)d", "abcd"}, other = {&a, v, 2, "x(.)d", "abcd"};

	assert_string_equal(fill_template(&f, "to {addr|ADDR}", true), "to 10.0.0.2");
	assert_string_equal(fill_template(&f, "to {good|ens5}", false), "to ens5");
	assert_null(fill_template(&f, "to {good}", false));
	assert_string_equal(fill_template(&f, "{{x}}", true), "{x}");
	assert_string_equal(fill_template(&f, "got {1|?}", true), "got c");
	assert_string_equal(fill_template(&other, "got {1|?}", false), "got ?");
	assert_string_equal(fill_template(&f, "open {", false), "open {");
}

/* "fd00::1:29500" would be another address. */
static void ports_follow_brackets(void **state UNUSED)
{
	static const struct {
		const char *addr, *shell, *text;
	} all[] = {{"fd00::1", "portcheck '[fd00::1]':29500", "at [fd00::1]:29500, of fd00::1"},
		   {"fe80::1%ens5", "portcheck '[fe80::1%ens5]':29500",
		    "at [fe80::1%ens5]:29500, of fe80::1%ens5"},
		   {"10.0.0.1", "portcheck 10.0.0.1:29500", "at 10.0.0.1:29500, of 10.0.0.1"},
		   {"node0", "portcheck node0:29500", "at node0:29500, of node0"}};
	AUTO(arena_done) struct arena a = {0};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const struct term_value v = {"addr", all[i].addr};
		const struct filling f = {&a, &v, 1, NULL, NULL};

		assert_string_equal(fill_template(&f, "portcheck {addr|PEER}:29500", true),
				    all[i].shell);
		assert_string_equal(fill_template(&f, "at {addr}:29500, of {addr}", false),
				    all[i].text);
		assert_string_equal(fill_template(&f, "{addr}: gone", false),
				    arena_printf(&a, "%s: gone", all[i].addr));
	}
}

/* A line of advice is pasted; who wrote the log must not be who writes the command. */
static void no_log_writes_a_command(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const char *const bad[] = {"$(reboot)",	 "x;reboot",  "fe80::1%`id`",
					  "a b",	 "-oProxy=x", "n0'$(id)'",
					  "fe80::1%;id", "*",	      "\033]0;x"};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct term_value v = {"host", bad[i]};
		const struct filling f = {&a, &v, 1, "=(.*)", arena_printf(&a, "=%s", bad[i])};

		assert_string_equal(fill_template(&f, "ssh {host|HOST}", true), "ssh HOST");
		assert_string_equal(fill_template(&f, "ssh {1|HOST}", true), "ssh HOST");
		assert_null(fill_template(&f, "ssh {host}", true));
		assert_non_null(strstr(fill_template(&f, "said {host|?}", false), bad[i]));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_are_understood),
		cmocka_unit_test(times_order),
		cmocka_unit_test(long_and_binary_lines_are_cut),
		cmocka_unit_test(control_characters_are_found_anywhere),
		cmocka_unit_test(two_steps_are_one),
		cmocka_unit_test(addresses_are_found),
		cmocka_unit_test(templates_are_filled),
		cmocka_unit_test(ports_follow_brackets),
		cmocka_unit_test(no_log_writes_a_command),
		cmocka_unit_test(runners_of_tests_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
