/* ncclbench's judgements: what people type, what ranks say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/ranks/relay.h"
#include "bench/sweep/ask.h"
#include "bench/sweep/hardware.h"
#include "bench/sweep/saved.h"
#include "lib/report/json.h"

#include <math.h>

/* --- asked ------------------------------------------------------------------------- */

static void sizes_as_people_give_them(void **state)
{
	const uint64_t no = ASK_NOT_GIVEN;
	struct sweep_opts s = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(ask_sizes(&(struct ask_sizes){8, 1 << 30, no, no}, &s, &e), 0);
	assert_true(s.factor == 2 && !s.step && !s.adaptive);
	assert_int_equal(ask_sizes(&(struct ask_sizes){no, no, no, no}, &s, &e), 0);
	assert_true(s.adaptive && s.factor == 4);
	assert_int_equal(ask_sizes(&(struct ask_sizes){no, no, no, 16}, &s, &e), 0);
	assert_true(s.adaptive && s.factor == 16);
	assert_int_equal(ask_sizes(&(struct ask_sizes){64 << 20, no, no, no}, &s, &e), 0);
	assert_true(s.max == 64 << 20);
	assert_int_equal(ask_sizes(&(struct ask_sizes){2, 1, no, no}, &s, &e), -1);
	assert_int_equal(ask_sizes(&(struct ask_sizes){1, 2, 0, no}, &s, &e), -1);
	assert_int_equal(ask_sizes(&(struct ask_sizes){1, 2, 0, 1}, &s, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	/* nccl-tests: a factor above 1 counts; else what is added, and that is 1 MiB */
	assert_int_equal(ask_sizes(&(struct ask_sizes){1, 2, 1, 2}, &s, &e), 0);
	assert_true(s.factor == 2 && !s.step);
	assert_int_equal(ask_sizes(&(struct ask_sizes){1, 2, 0, 4}, &s, &e), 0);
	assert_true(s.factor == 4 && !s.step);
	assert_int_equal(ask_sizes(&(struct ask_sizes){1, 2, 7, 1}, &s, &e), 0);
	assert_true(!s.factor && s.step == 7);
	assert_int_equal(ask_sizes(&(struct ask_sizes){8, 1 << 30, no, 1}, &s, &e), 0);
	assert_true(!s.factor && s.step == 1 << 20 && !s.adaptive);
}

static void expectations_as_people_give_them(void **state)
{
	static const char *const ways[] = {"2", "2GB/s", "2 GB/s", "2gb/s"};
	static const char *const bad[] = {"", "%", "fast", "-1", "0", "1e999", "5GB", "2 Gb/s"};
	struct verdict_opts v = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(ask_expect("12.5", &v, &e), 0);
	assert_true(v.expect_gbps == 12.5);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		v.expect_gbps = 0;
		assert_int_equal(ask_expect(ways[i], &v, &e), 0);
		assert_true(v.expect_gbps == 2);
	}
	assert_int_equal(ask_expect("61 %", &v, &e), 0);
	assert_true(fabs(v.expect_share - 0.61) < 1e-9);
	assert_int_equal(ask_expect("60%", &v, &e), 0);
	assert_true(v.expect_share == 0.6);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(ask_expect(bad[i], &v, &e), -1);
}

/* --- events ------------------------------------------------------------------------ */

struct heard {
	int events, others;
	double last;
};

static void on_event(const cJSON *event, void *arg)
{
	struct heard *h = arg;

	h->events++;
	h->last = json_get_num(event, "x", -1);
}

static void on_other(const char *line, void *arg)
{
	(void)line;
	((struct heard *)arg)->others++;
}

static void lines_come_in_any_pieces(void **state)
{
	static const char text[] = "NCCL INFO hello\n"
				   "\x1e{\"ev\":\"a\",\"x\":1}\n"
				   "[3 node3] \x1e{\"ev\":\"b\",\"x\":2}\n"
				   "\n\x1e{\"ev\":\n"
				   "\x1e{\"no\":\"name\"}\n"
				   "\x1e{\"ev\":\"c\",\"x\":3}";

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct heard h = {0};
		struct relay_in in = {.event = on_event, .other = on_other, .arg = &h};

		for (size_t at = 0; at < sizeof(text) - 1; at += piece)
			relay_feed(&in, text + at,
				   at + piece < sizeof(text) - 1 ? piece : sizeof(text) - 1 - at);
		relay_in_done(&in);
		assert_int_equal(h.events, 3);
		assert_int_equal(h.others, 1);
		assert_true(h.last == 3);
	}
}

static void on_long(const char *line, void *arg)
{
	on_other(line, arg);
	if (((struct heard *)arg)->others == 1) {
		assert_true(starts_with(line, "xxxx"));
		assert_non_null(strstr(line, "x ... (the rest of this line, of more than 63 MiB"));
		assert_true(strlen(line) < 2048);
	}
}

/* Said once, and what follows it is heard. */
static void a_line_without_an_end(void **state)
{
	enum { PIECE = 1 << 20 };
	static const char after[] = "x\n\x1e{\"ev\":\"a\",\"x\":1}\nplain\n";
	struct heard h = {0};
	struct relay_in in = {.event = on_event, .other = on_long, .arg = &h};
	char *piece = malloc(PIECE);

	(void)state;
	assert_non_null(piece);
	memset(piece, 'x', PIECE);
	for (size_t n = 0; n < 2 * (size_t)RELAY_LINE_MAX; n += PIECE)
		relay_feed(&in, piece, PIECE);
	assert_int_equal(h.others, 1);
	relay_feed(&in, after, sizeof(after) - 1);
	relay_in_done(&in);
	free(piece);
	assert_int_equal(h.events, 1);
	assert_int_equal(h.others, 2);
}

static void an_error_travels(void **state)
{
	static const struct {
		const char *event;
		enum err_kind kind;
	} made[] = {
		{"{\"kind\":1,\"message\":\"m\",\"hint\":\"h\"}", ERR_USAGE},
		{"{\"message\":\"m\",\"hint\":\"h\"}", ERR_SYS},
		{"{\"kind\":0,\"message\":\"m\",\"hint\":\"h\"}", ERR_SYS},
		{"{\"kind\":-1e30,\"message\":\"m\",\"hint\":\"h\"}", ERR_SYS},
	};
	struct err sent = {0}, came = {0};
	cJSON *event;

	(void)state;
	(void)err_set(&sent, ERR_ABSENT, "no library");
	event = relay_error("error", &sent);
	relay_error_take(event, &came);
	assert_memory_equal(&came, &sent, sizeof(came));
	cJSON_Delete(event);
	for (size_t i = 0; i < ARRAY_LEN(made); i++) {
		struct err e = {0};

		event = cJSON_Parse(made[i].event);
		relay_error_take(event, &e);
		relay_error_take(event, &came); /* the first one stays */
		cJSON_Delete(event);
		assert_int_equal(e.kind, made[i].kind);
		assert_string_equal(e.msg, "m");
		assert_string_equal(e.hint, "h");
	}
	assert_int_equal(came.kind, ERR_ABSENT);
}

/* --- saved ------------------------------------------------------------------------- */

static const char table[] =
	"[1,0]<stdout>:# Using devices\n"
	"#  Rank  0 Group  0 Pid   10 on      a device  0 [0000:01:00] NVIDIA A100\n"
	"#  Rank  1 Group  0 Pid   11 on      b device  0 [0000:01:00] NVIDIA A100\n"
	"     1048576        262144     float     sum      -1   100.00   10.00   10.00       0   "
	"90.00   11.00   11.00       3\n";

static void damaged_files_are_survived(void **state)
{
	struct err e = {0};

	(void)state;
	for (size_t cut = 0; cut < sizeof(table); cut++) {
		AUTO(arena_done) struct arena a = {0};
		char *text = arena_strndup(&a, table, cut);
		saved_list s;

		if (saved_parse("x", text, cut, &a, &s, &e))
			assert_int_equal(e.kind, ERR_USAGE);
		else
			assert_true(s.n == 1 && s.v[0].ranks == 2 && s.v[0].hosts == 2 &&
				    s.v[0].run.points.n == 1);
	}
	for (unsigned i = 0; i < 3000; i++) { /* one byte wrong */
		AUTO(arena_done) struct arena a = {0};
		char *text = arena_strdup(&a, table);
		saved_list s;

		text[i * 7919 % (sizeof(table) - 1)] = (char)(i * 31 % 255 + 1);
		(void)!saved_parse("x", text, sizeof(table) - 1, &a, &s, &e);
	}
}

/* --- cards ------------------------------------------------------------------------- */
static struct hardware on_host(const char *host, const char *transport)
{
	static struct rdma_port port = {.number = 1, .rate_gbps = 400};
	static struct rdma_device devices[3];
	rdma_list all = {devices, ARRAY_LEN(devices), ARRAY_LEN(devices)};
	struct hardware h = {.nic_gbps = 25};

	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		static const char *const names[] = {"mlx5_0", "mlx5_1", "mlx5_2"};

		devices[i].name = names[i];
		devices[i].ports.v = &port;
		devices[i].ports.n = 1;
	}
	(void)snprintf(h.host, sizeof(h.host), "%s", host);
	hardware_cards(&h, transport, &all);
	return h;
}

/* Two ranks on each of two hosts, and what each host has in all. */
static void cards_add_up(void **state UNUSED)
{
	static const struct {
		const char *first, *second;
		double gbps;
	} rows[] = {
		{"NCCL 2.28; NET/Socket (2 pairs)", "NCCL 2.28; NET/Socket (2 pairs)", 25},
		{"N; NET/IB; cards mlx5_0:1", "N; NET/IB; cards mlx5_1:1", 800},
		{"N; NET/IB; cards mlx5_0:1", "N; NET/IB; cards mlx5_0:1", 400},
		{"N; NET/IB; cards mlx5_0:1 mlx5_1:1", "N; NET/IB; cards mlx5_1:1 mlx5_2:1", 1200},
		{"N; NET/IB; cards mlx5_0+mlx5_1", "N; NET/IB; cards mlx5_0+mlx5_1", 800},
		/* not seen yet: one for each rank, of three */
		{"N; NET/IB; cards listed mlx5_0:1 mlx5_1:1 mlx5_2:1",
		 "N; NET/IB; cards listed mlx5_0:1 mlx5_1:1 mlx5_2:1", 800},
		/* what was seen counts more than a list */
		{"N; NET/IB; cards mlx5_2:1", "N; NET/IB; cards listed mlx5_0:1 mlx5_1:1", 400},
		/* of one the speed is not known, or which they are: not our address' card */
		{"N; NET/IB; cards mlx5_0:1", "N; NET/IB; cards mlx5_9:1", NAN},
		{"N; NET/IB; cards mlx5_0:2", "N; NET/IB; cards mlx5_0:2", NAN},
		{"N; NET/IB (2 pairs)", "N; NET/IB (2 pairs)", NAN},
		{"N; P2P (2 pairs), NET/AWS (2 pairs)", "N; NET/Socket, NET/AWS (2 pairs)", NAN},
		{"N; " COMM_WAY_UNKNOWN " (X is set)", "N; " COMM_WAY_UNKNOWN, NAN},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct hardware all[4] = {
			on_host("n0", rows[i].first), on_host("n1", rows[i].first),
			on_host("n0", rows[i].second), on_host("n1", rows[i].second)};

		/* clones, of one name: their machines tell them apart */
		for (size_t k = 0; i % 2 && k < ARRAY_LEN(all); k++) {
			(void)snprintf(all[k].machine, sizeof(all[k].machine), "%zu", k % 2);
			(void)snprintf(all[k].host, sizeof(all[k].host), "ubuntu");
		}
		hardware_add_up(all, ARRAY_LEN(all));
		for (size_t k = 0; k < ARRAY_LEN(all); k++)
			if (isnan(all[k].nic_gbps) != isnan(rows[i].gbps) ||
			    fabs(all[k].nic_gbps - rows[i].gbps) > 0.001)
				fail_msg("row %zu, rank %zu: %g", i, k, all[k].nic_gbps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cards_add_up),
		cmocka_unit_test(sizes_as_people_give_them),
		cmocka_unit_test(expectations_as_people_give_them),
		cmocka_unit_test(lines_come_in_any_pieces),
		cmocka_unit_test(a_line_without_an_end),
		cmocka_unit_test(an_error_travels),
		cmocka_unit_test(damaged_files_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
