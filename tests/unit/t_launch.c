/*
 * The parts of launching that need no run: places, codes, lines of output, orders, what a command
 * line means. (What lies between a launcher and an agent: t_launch_link.c.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/launch_agents.h"
#include "lib/core/units.h"

#include <fcntl.h>
#include <sys/socket.h>

static struct arena a;
static struct err e;

static int forget(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

/* ---- places and codes ---- */
static void ranks_are_placed_in_order(void **state UNUSED)
{
	static const struct {
		const char *hosts;
		unsigned np, per_host, want[4]; /* want[0] 9: does not fit */
	} cases[] = {
		{"a,b,c", 0, 0, {1, 1, 1}},	{"a:2,b,c:4", 0, 0, {2, 1, 4}},
		{"a:2,b,c:4", 4, 0, {2, 1, 1}}, {"a:2,b:2", 1, 0, {1, 0}},
		{"a:2,b:2", 5, 0, {9}},		{"a,b,c", 8, 0, {3, 3, 2}},
		{"a,b,c", 2, 0, {1, 1, 0}},	{"a,b,c", 3, 0, {1, 1, 1}},
		{"a,b", 0, 8, {8, 8}},		{"a:2,b", 0, 8, {8, 8}},
		{"a,b", 3, 2, {2, 1}},		{"a,b", 5, 2, {9}},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned got[4] = {0};
		host_list l = {0};
		int rc;

		assert_int_equal(hostlist_parse(cases[i].hosts, &a, &l, &e), 0);
		rc = launch_place(&l, cases[i].np, cases[i].per_host, got, &e);
		assert_int_equal(rc, cases[i].want[0] == 9 ? -1 : 0);
		for (size_t k = 0; !rc && k < l.n; k++)
			if (got[k] != cases[i].want[k])
				fail_msg("%s --np %u: host %zu gets %u", cases[i].hosts,
					 cases[i].np, k, got[k]);
		if (rc)
			assert_int_equal(e.kind, ERR_USAGE);
	}
}

static void codes_are_merged(void **state UNUSED)
{
	static const int order[] = {1, 4, 3, 0};

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		for (size_t k = 0; k < ARRAY_LEN(order); k++)
			assert_int_equal(launch_merge_codes(order[i], order[k]),
					 order[i < k ? i : k]);
	assert_int_equal(launch_merge_codes(0, 127), 3);
	assert_int_equal(launch_merge_codes(2, 1), 1);
}

/* ---- output ---- */
static const char *read_all(int fd)
{
	static char buf[256 << 10];
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static void lines_are_whole_and_prefixed(void **state UNUSED)
{
	static const char *const parts[] = {"one\ntw", "o\n", "\n", "three", " and more", ""};
	struct outlet q = {0};
	struct line l = {0};
	struct loop loop;
	int fd[2];

	assert_int_equal(loop_init(&loop, &e), 0);
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	q.fd = fd[1];
	q.loop = &loop;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		line_add(&l, &q, "[1] ", parts[i], strlen(parts[i]), false);
	assert_string_equal(read_all(fd[0]), "[1] one\n[1] two\n[1] \n");
	line_add(&l, &q, "[1] ", NULL, 0, true);
	assert_string_equal(read_all(fd[0]), "[1] three and more\n");
	assert_int_equal(bytes_left(&q.waiting), 0);
	outlet_done(&q);
	loop_done(&loop);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

static void an_endless_line_is_cut(void **state UNUSED)
{
	char *big = arena_alloc(&a, LINE_MAX_BYTES + 10);
	struct outlet q = {0};
	struct line l = {0};
	struct loop loop;
	int fd[2];

	memset(big, 'x', LINE_MAX_BYTES + 10);
	assert_int_equal(loop_init(&loop, &e), 0);
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	assert_true(fcntl(fd[1], F_SETPIPE_SZ, 256 << 10) > 0);
	q.fd = fd[1];
	q.loop = &loop;
	line_add(&l, &q, "> ", big, LINE_MAX_BYTES + 10, false);
	assert_int_equal(l.text.n, 10);
	assert_int_equal(strlen(read_all(fd[0])), 2 + LINE_MAX_BYTES + 1);
	line_add(&l, &q, "> ", NULL, 0, true);
	outlet_done(&q);
	loop_done(&loop);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

/* ---- orders ---- */
static struct agent_orders some_orders(void)
{
	struct agent_orders o = {.command = "ncclbench",
				 .first = 3,
				 .count = 2,
				 .size = 8,
				 .node = 1,
				 .nodes = 4,
				 .port = 0,
				 .data_addr = "10.0.0.1",
				 .run = "abc"};

	*LIST_ADD(&a, &o.args) = "-b";
	*LIST_ADD(&a, &o.args) = "tab\there and \xc3\xa9 and \xff";
	*LIST_ADD(&a, &o.args) = "";
	*LIST_ADD(&a, &o.env) = "NCCL_DEBUG=INFO";
	memset(o.token.bytes, 7, sizeof(o.token.bytes));
	return o;
}

static void orders_survive_the_way(void **state UNUSED)
{
	struct agent_orders o = some_orders(), got = {0};
	size_t n;
	AUTO_FREE unsigned char *p = orders_pack(&o, &n);
	struct wire_in in = {p, n, false};

	assert_non_null(p);
	assert_int_equal(orders_unpack(&in, &a, &got), 0);
	assert_string_equal(got.command, "ncclbench");
	assert_int_equal(got.first, 3);
	assert_int_equal(got.count, 2);
	assert_int_equal(got.size, 8);
	assert_int_equal(got.args.n, 3);
	assert_string_equal(got.args.v[1], o.args.v[1]);
	assert_string_equal(got.args.v[2], "");
	assert_string_equal(got.env.v[0], "NCCL_DEBUG=INFO");
	assert_memory_equal(&got.token, &o.token, sizeof(o.token));
	for (size_t cut = 0; cut < n; cut++) {
		in = (struct wire_in){p, cut, false};
		assert_int_equal(orders_unpack(&in, &a, &got), -1);
	}
}

/* ncclbench --replay nccl_trace_rank_*: a file for each rank of a large job. */
static void words_are_as_many_as_a_message_has_room_for(void **state UNUSED)
{
	enum { FILES = 20000 };
	struct agent_orders o = some_orders(), got = {0};
	AUTO_FREE unsigned char *p = NULL;
	struct wire_in in;
	size_t n, before = o.args.n;

	for (int i = 0; i < FILES; i++)
		*LIST_ADD(&a, &o.args) = arena_printf(&a, "dumps/nccl_trace_rank_%d", i);
	p = orders_pack(&o, &n);
	assert_non_null(p);
	in = (struct wire_in){p, n, false};
	assert_int_equal(orders_unpack(&in, &a, &got), 0);
	assert_int_equal(got.args.n, before + FILES);
	assert_string_equal(got.args.v[before + FILES - 1], "dumps/nccl_trace_rank_19999");
	assert_string_equal(got.env.v[0], "NCCL_DEBUG=INFO");
	for (int i = 0; i < FILES; i++)
		*LIST_ADD(&a, &o.args) = "dumps/of/a/folder/that/has/a/long/name";
	assert_null(orders_pack(&o, &n));
}

static void wrong_orders_are_refused(void **state UNUSED)
{
	for (int what = 0; what < 7; what++) {
		struct agent_orders o = some_orders(), got;
		size_t n;

		switch (what) {
		case 0:
			o.command = "../sh";
			break;
		case 1:
			o.command = "";
			break;
		case 2:
			o.count = 6;
			break;
		case 3:
			o.first = -1;
			break;
		case 4:
			o.node = 4;
			break;
		case 5:
			o.size = WORLD_MAX + 1;
			break;
		case 6:
			o.count = AGENT_RANKS_MAX + 1, o.size = o.count + 3;
			break;
		}
		AUTO_FREE unsigned char *p = orders_pack(&o, &n);
		struct wire_in in = {p, n, false};

		assert_int_equal(orders_unpack(&in, &a, &got), -1);
	}
}

/* ---- command lines ---- */
enum { WORDS = 8, WORD = 32 };

/* As main() gets them: words that may be written to. */
static bool intercepts(const char *line, char (*words)[WORD], int *rc)
{
	char *argv[WORDS + 1] = {NULL};
	int argc = 0;

	for (const char *s = line; *s && argc < WORDS; argc++) {
		size_t n = strcspn(s, " ");

		snprintf(words[argc], WORD, "%.*s", (int)n, s);
		argv[argc] = words[argc];
		s += n + (s[n] == ' ');
	}
	*rc = -1;
	return launch_intercept(argc, argv, rc, &e);
}

static void only_hidden_modes_are_intercepted(void **state UNUSED)
{
	static const char wiped[WORD];
	char w[WORDS][WORD];
	int rc;

	assert_false(intercepts("x --np 2", w, &rc));
	assert_false(intercepts("x", w, &rc));
	assert_true(intercepts("x --agent two", w, &rc));
	assert_int_equal(rc, 2);
	assert_true(intercepts("x --join", w, &rc));
	assert_int_equal(rc, 2);
	assert_true(intercepts("x --join 10.0.0.1:29499 AAAA-BBBB", w, &rc));
	assert_int_equal(rc, 2);
	assert_memory_equal(w[3], wiped, strlen("AAAA-BBBB")); /* though it is no code */
}

static void the_line_to_paste(void **state UNUSED)
{
	struct token t = {{1, 2, 3}};
	union addr at;
	const char *line;

	assert_int_equal(addr_parse("10.0.0.1", &at), 0);
	addr_set_port(&at, LAUNCH_PORT);
	line = join_line("ifprobe", &at, &t, &a);
	assert_true(starts_with(line, "ifprobe --join 10.0.0.1:29499 "));
	assert_int_equal(token_parse(strrchr(line, ' ') + 1, &t, &e), 0);
	assert_int_equal(t.bytes[2], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_are_placed_in_order),
		cmocka_unit_test(codes_are_merged),
		cmocka_unit_test(lines_are_whole_and_prefixed),
		cmocka_unit_test(an_endless_line_is_cut),
		cmocka_unit_test(orders_survive_the_way),
		cmocka_unit_test(words_are_as_many_as_a_message_has_room_for),
		cmocka_unit_test(wrong_orders_are_refused),
		cmocka_unit_test(only_hidden_modes_are_intercepted),
		cmocka_unit_test(the_line_to_paste),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
