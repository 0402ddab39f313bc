/* The rendezvous without sockets: who is let in, what they share, ten thousand of them. */
#include "tests/unit/rdzv_players.h"

#include "lib/core/version.h"

#include <malloc.h>

static void t_everybody_joins(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct rdzv_member v[5];
	struct wire_in w;
	const void *table;
	size_t n;

	(void)state;
	begin(5, 5);
	for (int i = 4; i >= 0; i--) {
		assert_false(core.ready);
		join(i);
		assert_int_equal(players[i].type, i ? RDZV_WELCOME : RDZV_MET);
	}
	assert_true(core.ready);
	for (int i = 0; i < 5; i++) {
		w = (struct wire_in){.p = players[i].data, .n = players[i].n};
		assert_int_equal(wire_u32(&w), 0);
		assert_int_equal(wire_u64(&w), core.met[0].n);
		table = wire_bytes(&w, &n);
		assert_true(wire_end(&w));
		w = (struct wire_in){.p = table, .n = n};
		assert_int_equal(rdzv_read_members(&w, &a, v, 5), 0);
		assert_string_equal(v[3].host, "node1");
		assert_string_equal(v[4].data_addr, "10.0.0.3");
		assert_int_equal(v[3].local_rank, 1);
	}
	for (int i = 0; i < 5; i++) {
		assert_false(rdzv_core_finished(&core));
		leave(i, "");
	}
	assert_true(rdzv_core_finished(&core));
	assert_string_equal(core.failure, "");
}

static void t_ranks_are_given(void **state)
{
	struct rdzv_join_msg m;

	(void)state;
	begin(3, 4);
	m = join_msg(1);
	assert_int_equal(join_as(0, &m), 0);
	for (int i = 1; i < 4; i++) {
		m = join_msg(0);
		m.rank = -1;
		assert_int_equal(join_as(i, &m), 0);
	}
	assert_int_equal(players[1].peer.rank, 0);
	assert_int_equal(players[2].peer.rank, 2);
	assert_int_equal(players[3].type, RDZV_REFUSED);
	assert_string_equal(players[3].text, "node0 comes when all 3 have joined");
}

static void t_refused(void **state)
{
	static const struct {
		struct rdzv_join_msg m;
		const char *says;
	} row[] = {
		{{WINDSOCK_VERSION, "", 0, 1, 0, "b", "", "", 0, NULL},
		 "rank 0 on b takes itself for a world of 1, but 4 ranks are to meet here: "
		 "4 worlds of 1 were started; start all under one launcher, or give each --rank "
		 "and --world-size"},
		{{WINDSOCK_VERSION, "", 2, 8, 0, "b", "", "", 0, NULL},
		 "rank 2 on b was told of a world of 8, but 4 ranks are to meet here: give all "
		 "the same world size"},
		{{WINDSOCK_VERSION, "", 4, 4, 0, "", "10.9.9.9", "", 0, NULL},
		 "rank 4 on 10.9.9.9 is not in a world of 4: ranks run from 0 to 3"},
		{{WINDSOCK_VERSION, "", 1, 4, 0, "b", "", "", 0, NULL},
		 "rank 1 on b comes when rank 1 (node0, 10.0.0.1) has joined already: give every "
		 "process a rank of its own"},
		{{"9.9.9", "", 2, 4, 0, "b", "", "", 0, NULL},
		 "rank 2 on b runs windsock 9.9.9 (protocol 4) and the rendezvous " WINDSOCK_VERSION
		 " (protocol 4): install one version on all hosts"},
		{{WINDSOCK_VERSION, "r2", 2, 4, 0, "b", "", "", 0, NULL},
		 "rank 2 on b belongs to run 'r2' and this is the rendezvous of 'r1': give each "
		 "run a MASTER_PORT of its own"},
	};

	(void)state;
	begin(4, 12);
	join(0);
	join(1);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(join_as(4 + (int)i, &row[i].m), 0);
		assert_int_equal(players[4 + i].type,
				 i == ARRAY_LEN(row) - 1 ? RDZV_ELSEWHERE : RDZV_REFUSED);
		assert_string_equal(players[4 + i].text, row[i].says);
		assert_true(players[4 + i].closed);
		rdzv_core_closed(&core, &players[4 + i].peer, now);
	}
	assert_string_equal(core.failure, ""); /* the right ones are not disturbed */
	join(2);
	join(3);
	assert_true(core.ready);
}

static void t_two_worlds_of_one(void **state)
{
	struct rdzv_join_msg m;

	(void)state;
	begin(1, 2);
	join(0);
	m = join_msg(0);
	m.host = "b";
	assert_int_equal(join_as(1, &m), 0);
	assert_int_equal(players[1].type, RDZV_REFUSED);
	assert_string_equal(players[1].text,
			    "rank 0 on b is a second world of 1 at one rendezvous: start all under "
			    "one launcher, or give each --rank and --world-size");
}

static void t_another_protocol(void **state)
{
	unsigned char buf[64];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	(void)state;
	begin(2, 1);
	wire_put_u32(&w, 7);
	wire_put_str(&w, "3.0.0");
	wire_put_u64(&w, 1234567); /* whatever comes then */
	assert_int_equal(say(0, RDZV_JOIN, &w), 0);
	assert_int_equal(players[0].type, RDZV_REFUSED);
	assert_non_null(strstr(players[0].text, "a rank runs windsock 3.0.0 (protocol 7) and"));
}

/* A rank as it was before JOIN had all that it has: it reads why, and so does who meets it. */
static void t_an_older_protocol(void **state)
{
	unsigned char buf[128];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	(void)state;
	begin(2, 2);
	join(0);
	wire_put_u32(&w, 1);
	wire_put_str(&w, WINDSOCK_VERSION);
	wire_put_str(&w, "r1");
	for (uint32_t i = 0; i < 3; i++)
		wire_put_u32(&w, i);
	for (int i = 0; i < 3; i++)
		wire_put_str(&w, "x");
	assert_int_equal(say(1, RDZV_JOIN, &w), 0);
	assert_int_equal(players[1].type, RDZV_REFUSED);
	assert_non_null(strstr(players[1].text, "(protocol 1) and the rendezvous "));
	assert_non_null(strstr(players[1].text, "install one version on all hosts"));
	time_passes(9 * NS_PER_S);
	assert_int_equal(say(0, RDZV_BEAT, &(struct wire_out){0}), 0);
	for (int i = 0; i < 3; i++) {
		time_passes(7 * NS_PER_S);
		assert_int_equal(say(0, RDZV_BEAT, &(struct wire_out){0}), 0);
	}
	assert_non_null(strstr(core.failure, "the last time because a rank runs windsock"));
}

/* --- one that does not come ------------------------------------------------------------- */
static void decline(int who, int rank, const char *why)
{
	struct rdzv_join_msg m = join_msg(rank);

	m.excuse = why;
	assert_int_equal(join_as(who, &m), 0);
}

static void t_excused(void **state)
{
	static const char said[] =
		"rank 2 (node1, 10.0.0.2) does not take part: there is no option --iter";

	(void)state;
	begin(4, 6);
	join(0);
	decline(2, 2, "there is no option --iter");
	assert_string_equal(core.failure, said);
	assert_int_equal(players[0].type, RDZV_FAILED);
	assert_string_equal(players[0].text, said);
	assert_true(players[2].closed);
	assert_false(rdzv_core_all_told(&core));
	join(1); /* whoever comes later hears it too */
	assert_string_equal(players[1].text, said);
	leave(0, said);
	assert_false(rdzv_core_all_told(&core));
	players[4].peer.rank = -1;
	assert_int_equal(join_as(4, &(struct rdzv_join_msg){WINDSOCK_VERSION, "r1", 1, 4, 0, "b",
							    "", "", 0, NULL}),
			 0); /* again */
	assert_false(rdzv_core_all_told(&core));
	decline(3, 3, "nor here");
	assert_string_equal(players[3].text, said);
	assert_true(rdzv_core_all_told(&core));
}

/* Only for itself, and not when it is too late for that. */
static void t_excuses_disturb_nobody(void **state)
{
	(void)state;
	begin(2, 5);
	join(0);
	decline(2, 0, "a second rank 0 with a wrong option");
	assert_int_equal(players[2].type, RDZV_REFUSED);
	assert_string_equal(core.failure, "");
	assert_int_equal(join_as(3, &(struct rdzv_join_msg){WINDSOCK_VERSION, "r2", 1, 2, 0, "b",
							    "", "", 0, "another run's"}),
			 0);
	assert_int_equal(players[3].type, RDZV_ELSEWHERE);
	assert_string_equal(core.failure, "");
	join(1);
	assert_true(core.ready);
}

static void t_meetings(void **state)
{
	(void)state;
	begin(3, 3);
	all_join(3);
	for (uint32_t seq = 1; seq < 50; seq++) {
		for (int i = 0; i < 3; i++)
			assert_int_equal(simple(i, RDZV_MEET, seq, &seq, seq % 2 ? 4 : 0), 0);
		for (int i = 0; i < 3; i++) {
			struct wire_in w = {.p = players[i].data, .n = players[i].n};
			size_t n;

			assert_int_equal(players[i].type, RDZV_MET);
			assert_int_equal(wire_u32(&w), seq);
			assert_int_equal(wire_u64(&w), seq % 2 ? 12 : 0);
			(void)wire_bytes(&w, &n);
			assert_int_equal(n, seq % 2 ? 12 : 0);
		}
	}
	assert_int_equal(simple(1, RDZV_MEET, 49, NULL, 0), -1); /* over */
	assert_int_equal(simple(1, RDZV_MEET, 51, NULL, 0), -1); /* not yet */
	assert_int_equal(simple(1, RDZV_MEET, 50, NULL, 0), 0);
	assert_int_equal(simple(1, RDZV_MEET, 50, NULL, 0), -1); /* twice */
	time_passes(7 * NS_PER_S);
	assert_int_equal(simple(1, RDZV_ASK, 50, NULL, 0), 0);
	assert_string_equal(players[1].text, "ranks 0,2 of 3 (node[0-1]) missing at a barrier: "
					     "nobody has come for 7 s");
	assert_int_equal(simple(2, RDZV_MEET, 50, "1234", 4), 0);
	told_all(3, -1, RDZV_GAVE_UP,
		 "rank 2 (node1, 10.0.0.2) brings 4 bytes where others bring 0: the ranks "
		 "do not run the same program, or not with the same options");
}

static int key_msg(int who, uint16_t type, uint32_t id, const char *key, const char *value)
{
	unsigned char buf[1024];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	if (type == RDZV_GET)
		wire_put_u32(&w, id);
	wire_put_str(&w, key);
	if (type == RDZV_SET)
		wire_put_str(&w, value);
	return say(who, type, &w);
}

static void has_value(int who, uint32_t id, const char *value)
{
	struct wire_in w = {.p = players[who].data, .n = players[who].n};
	size_t n;
	const void *p;

	assert_int_equal(players[who].type, RDZV_VALUE);
	assert_int_equal(wire_u32(&w), id);
	p = wire_bytes(&w, &n);
	assert_int_equal(n, strlen(value));
	assert_memory_equal(p, value, n);
}

static void t_keys(void **state)
{
	(void)state;
	begin(3, 3);
	all_join(3);
	assert_int_equal(key_msg(1, RDZV_GET, 1, "k", NULL), 0);
	assert_int_equal(key_msg(2, RDZV_GET, 9, "other", NULL), 0);
	assert_int_equal(key_msg(2, RDZV_GET, 10, "k", NULL), 0); /* gave up on the other */
	assert_int_equal(players[1].type, RDZV_MET);
	assert_int_equal(key_msg(0, RDZV_SET, 0, "k", "v1"), 0);
	has_value(1, 1, "v1");
	has_value(2, 10, "v1");
	assert_int_equal(key_msg(0, RDZV_SET, 0, "k", "later"), 0);
	assert_int_equal(key_msg(1, RDZV_GET, 2, "k", NULL), 0);
	has_value(1, 2, "later");
	assert_int_equal(key_msg(1, RDZV_GET, 3, "never", NULL), 0);
	leave(1, ""); /* who waits and goes is forgotten */
	players[1].type = 0;
	assert_int_equal(key_msg(0, RDZV_SET, 0, "never", "x"), 0);
	assert_int_equal(players[1].type, 0);
	assert_int_equal(key_msg(0, RDZV_SET, 0, "", "x"), -1);
}

/* A name that is only waited for takes room too. */
static void t_no_room(void **state)
{
	static const uint16_t types[] = {RDZV_SET, RDZV_GET};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		begin(2, 2);
		all_join(2);
		assert_int_equal(key_msg(1, types[i], 1, "k", "v"), 0);
		core.store_bytes = RDZV_STORE_MAX;
		assert_int_equal(key_msg(1, types[i], 2, "k", "v"), 0);
		assert_string_equal(core.failure, "");
		assert_int_equal(key_msg(1, types[i], 3, "another", "v"), 0);
		told_all(2, -1, RDZV_GAVE_UP,
			 "rank 1 (node0, 10.0.0.1) stores more than the rendezvous can keep (256 "
			 "MiB)");
		end(NULL);
	}
}

static void t_nonsense(void **state)
{
	struct wire_out w = {.p = (unsigned char *)(uintptr_t) "\1\2\3", .n = 3};

	(void)state;
	begin(2, 3);
	for (uint16_t type = 0; type < 80; type++)
		assert_int_equal(say(0, type, &w), -1);
	join(0);
	assert_int_equal(simple(0, RDZV_MEET, 1, NULL, 0), -1); /* not all are here */
	join(1);
	for (uint16_t type = 0; type < 80; type++)
		if (type != RDZV_BEAT)
			assert_int_equal(say(0, type, &w), -1);
	assert_int_equal(simple(0, RDZV_PULL, 0, NULL, 1000000), -1);
	assert_int_equal(simple(0, RDZV_PULL, 3, NULL, 0), -1);
	assert_int_equal(simple(0, RDZV_PULL, 1, NULL, 0), -1);
	assert_int_equal(join_as(0, &(struct rdzv_join_msg){WINDSOCK_VERSION, "", 0, 2, 0, "", "",
							    "", 0, NULL}),
			 -1); /* it sits already */
}

static size_t memory(void) { return mallinfo2().uordblks + mallinfo2().hblkhd; }

/* Ten thousand: join, a barrier, a paged all-gather, leave. */
static void t_ten_thousand(void **state)
{
	enum { N = 10000 };
	clock_t started = clock(); /* a busy machine adds nothing to it */
	double seconds;
	uint64_t total;
	size_t kept;

	(void)state;
	kept = memory();
	begin(N, N);
	kept += N * sizeof(*players);
	all_join(N);
	assert_true(core.ready);
	assert_true(bytes_sent < N * 100ull); /* nobody got ten thousand entries */
	total = core.met[0].n;
	for (size_t at = 0; at < total; at += RDZV_PAGE_MAX) {
		assert_int_equal(simple(77, RDZV_PULL, 0, NULL, at), 0);
		assert_int_equal(players[77].type, RDZV_PAGE);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(simple(i, RDZV_MEET, 1, NULL, 0), 0);
	assert_int_equal(players[N - 1].type, RDZV_MET);
	for (int i = 0; i < N; i++)
		assert_int_equal(simple(i, RDZV_MEET, 2, "12345678", 8), 0);
	assert_int_equal(core.met[1].n, 8 * N);
	for (int i = 0; i < N; i++)
		leave(i, "");
	assert_true(rdzv_core_finished(&core));
	kept = memory() > kept ? memory() - kept : 0; /* unknown to sanitizers */
	seconds = (double)(clock() - started) / CLOCKS_PER_SEC;
	print_message("# 10000 ranks: %.0f ms, %zu bytes kept for each\n", seconds * 1e3, kept / N);
	assert_true(kept < N * 512ull);
	assert_true(seconds < 10);
}

#define T(f) cmocka_unit_test_teardown(f, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(t_everybody_joins),  T(t_ranks_are_given),
		T(t_refused),	       T(t_two_worlds_of_one),
		T(t_another_protocol), T(t_an_older_protocol),
		T(t_excused),	       T(t_excuses_disturb_nobody),
		T(t_meetings),	       T(t_keys),
		T(t_no_room),	       T(t_nonsense),
		T(t_ten_thousand),
	};

	return cmocka_run_group_tests_name("rdzv", tests, NULL, NULL);
}
