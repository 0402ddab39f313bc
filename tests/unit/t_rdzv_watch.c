/*
 * The rendezvous without sockets: who is missing, who died, what everybody is
 * told and when. Time is a number here, so deadlines take none.
 */
#include "tests/unit/rdzv_players.h"

#include "lib/core/version.h"

static void t_missing(void **state)
{
	static const char *const hosts[] = {"n1", "n1", "n2", "n3", "n4", "x", "y", "n5"};

	(void)state;
	begin(8, 9);
	for (int i = 0; i < 8; i++)
		core.seats[i].m.host = hosts[i];
	join(0);
	for (int i = 0; i < 29; i++) {
		time_passes(NS_PER_S);
		beat_but(1, -1);
	}
	join(6); /* somebody came: the patience begins anew */
	for (int i = 0; i < 9; i++) {
		time_passes(3 * NS_PER_S);
		beat_but(1, -1);
		assert_int_equal(say(6, RDZV_BEAT, &(struct wire_out){0}), 0);
	}
	assert_string_equal(core.failure, "");
	assert_int_equal(join_as(8, &(struct rdzv_join_msg){WINDSOCK_VERSION, "", 0, 1, 0, "z", "",
							    "", 0, NULL}),
			 0);
	assert_int_equal(simple(0, RDZV_ASK, 0, NULL, 0), 0);
	assert_non_null(
		strstr(players[0].text,
		       "ranks 1-5,7 of 8 (n[1-4],x,n5) missing: nobody has joined for 27 s"));
	time_passes(3 * NS_PER_S);
	assert_int_equal(players[0].type, RDZV_FAILED);
	assert_int_equal(players[6].type, RDZV_FAILED);
	assert_non_null(strstr(
		core.failure, "ranks 1-5,7 of 8 (n[1-4],x,n5) missing: nobody has joined for 30 s; "
			      "refused: 1, the last time because rank 0 on z takes itself for a "
			      "world of 1"));
	join(5);					/* too late: it is told why */
	assert_int_equal(players[5].type, RDZV_FAILED); /* and nothing is wrong with itself */
	assert_int_equal(players[5].why, RDZV_LOST);
	assert_string_equal(players[5].text, core.failure);
	assert_true(players[5].closed);
}

static void t_connection_lost(void **state)
{
	(void)state;
	begin(4, 4);
	all_join(4);
	rdzv_core_closed(&core, &players[3].peer, now);
	time_passes(290 * NS_PER_MS);
	assert_string_equal(core.failure, "");
	time_passes(20 * NS_PER_MS);
	told_all(4, 3, RDZV_LOST, "rank 3 (node1, 10.0.0.2) died: connection lost");
	assert_int_equal(core.gone, 1);
	rdzv_core_closed(&core, &players[0].peer, now); /* who goes after that is no news */
	time_passes(NS_PER_S);
	assert_non_null(strstr(core.failure, "rank 3"));
	leave(1, "");
	leave(2, "told");
	assert_true(rdzv_core_finished(&core));
	assert_string_equal(core.seats[3].m.cause, "connection lost");
}

static void t_agent_knows_better(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		begin(2, 2);
		all_join(2);
		if (first)
			rdzv_core_report_exit(&core, 1, "killed by signal 9", now);
		else
			rdzv_core_closed(&core, &players[1].peer, now);
		time_passes(100 * NS_PER_MS);
		assert_string_equal(core.failure, "");
		if (first)
			rdzv_core_closed(&core, &players[1].peer, now);
		else
			rdzv_core_report_exit(&core, 1, "killed by signal 9", now);
		time_passes(0);
		told_all(2, 1, RDZV_LOST, "rank 1 (node0, 10.0.0.1) died: killed by signal 9");
		end(NULL);
	}
	begin(2, 2); /* what it said itself beats its exit code, though that came first */
	all_join(2);
	rdzv_core_report_exit(&core, 1, "exit code 3", now);
	leave(1, "wrong sums in all_reduce");
	told_all(2, 1, RDZV_GAVE_UP, "rank 1 (node0, 10.0.0.1): wrong sums in all_reduce");
	rdzv_core_report_exit(&core, 7, "no such rank", now);
}

static void t_ended_before_join(void **state)
{
	static const char *const hosts[] = {"a", "b", "c"};

	(void)state;
	core = (struct rdzv_core){0};
	begin(3, 3);
	core.seats[2].m.host = hosts[2];
	join(0);
	rdzv_core_report_exit(&core, 2, "exit code 127", now);
	told_all(1, -1, RDZV_LOST, "rank 2 (c) ended before it joined: exit code 127");
	rdzv_core_report_exit(&core, 1, "exit code 3", now); /* the first one is the failure */
	assert_int_equal(core.unjoined, 2);
	end(NULL);
	begin(2, 2);
	join(0);
	assert_int_equal(core.unjoined, -1);
	rdzv_core_report_exit(&core, 1, NULL, now);
	told_all(1, -1, RDZV_LOST, "rank 1 ended before it joined: exit code 0");
	assert_int_equal(core.unjoined, 1);
	end(NULL);
	begin(2, 2); /* left in order: its exit is no news */
	all_join(2);
	leave(1, "");
	rdzv_core_closed(&core, &players[1].peer, now);
	rdzv_core_report_exit(&core, 1, NULL, now);
	time_passes(5 * NS_PER_S);
	assert_string_equal(core.failure, "");
	assert_int_equal(core.unjoined, -1);
}

static void t_silence(void **state)
{
	(void)state;
	begin(3, 3);
	all_join(3);
	for (int i = 0; i < 3; i++) {
		time_passes(3 * NS_PER_S);
		beat_but(3, 2);
		assert_int_equal(players[0].type, RDZV_BEAT);
		assert_string_equal(core.failure, "");
	}
	time_passes(NS_PER_S);
	told_all(3, -1, RDZV_LOST, "rank 2 (node1, 10.0.0.2) has been silent for 10 s");
}

/* Its machine is more crowded than ours: it said for how long it may be silent. */
static void t_silence_as_its_machine_has_it(void **state)
{
	struct rdzv_join_msg m;

	(void)state;
	begin(3, 3);
	join(0);
	m = join_msg(1);
	m.silence_ns = NS_PER_S; /* less than ours is no reason */
	assert_int_equal(join_as(1, &m), 0);
	m = join_msg(2);
	m.silence_ns = 25 * NS_PER_S;
	assert_int_equal(join_as(2, &m), 0);
	for (int i = 0; i < 8; i++) {
		time_passes(3 * NS_PER_S);
		beat_but(3, 2);
		assert_string_equal(core.failure, "");
	}
	time_passes(NS_PER_S);
	told_all(3, -1, RDZV_LOST, "rank 2 (node1, 10.0.0.2) has been silent for 25 s");
	end(NULL);
	begin(2, 2);
	join(0);
	m = join_msg(1);
	m.silence_ns = UINT64_MAX; /* not for ever */
	assert_int_equal(join_as(1, &m), 0);
	for (int i = 0; i < 24 * 1200; i++) {
		time_passes(3 * NS_PER_S);
		beat_but(2, 1);
	}
	assert_string_equal(core.failure, "rank 1 (node0, 10.0.0.1) has been silent for 24 h");
}

/* We were stopped for a minute: nobody is to blame. */
static void t_own_sleep(void **state)
{
	(void)state;
	begin(3, 3);
	all_join(3);
	now += 60 * NS_PER_S;
	rdzv_core_tick(&core, now);
	assert_string_equal(core.failure, "");
	time_passes(9 * NS_PER_S);
	assert_string_equal(core.failure, "");
	time_passes(NS_PER_S);
	assert_non_null(strstr(core.failure, "has been silent"));
}

/* For how long nobody has come to the meeting, as it was told. */
static uint64_t idle_said(int who)
{
	struct wire_in w = {.p = players[who].data, .n = players[who].n};

	assert_int_equal(players[who].type, RDZV_STATUS);
	(void)wire_u32(&w);
	return wire_u64(&w);
}

/* All are stopped together, when the last beats are old and a look at the clock is far or near:
 * what we hear first then is whoever wakes up first, and no rank is silent or missing. */
static void t_all_slept(void **state)
{
	(void)state;
	for (uint64_t age = 0; age <= 2500; age += 250)
		for (uint64_t stop = 0; stop < 30; stop++) {
			begin(3, 3);
			all_join(3);
			assert_int_equal(simple(0, RDZV_MEET, 1, NULL, 0), 0);
			time_passes(age * NS_PER_MS);
			now += stop * NS_PER_S;
			assert_int_equal(simple(0, RDZV_ASK, 1, NULL, 0), 0);
			assert_true(idle_said(0) < 10 * NS_PER_S);
			rdzv_core_tick(&core, now);
			assert_string_equal(core.failure, "");
			beat_but(3, -1);
			time_passes(9 * NS_PER_S);
			assert_string_equal(core.failure, "");
			end(NULL);
		}
}

/* Where somebody said how long it may take it ends then, and the sentence says whose time it was.
 */
static void t_slept_within_a_deadline(void **state)
{
	(void)state;
	begin(2, 2);
	core.deadline_given = true;
	join(0);
	now = core.due_ns + 7 * NS_PER_S;
	beat_but(1, -1);
	assert_int_equal(simple(0, RDZV_ASK, 0, NULL, 0), 0);
	assert_non_null(strstr(players[0].text, "(the rendezvous itself did not run for 7 s)"));
	while (now < core.still.since_ns + 29 * NS_PER_S) {
		assert_string_equal(core.failure, "");
		time_passes(NS_PER_S);
		beat_but(1, -1);
	}
	time_passes(NS_PER_S);
	assert_non_null(strstr(core.failure,
			       "nobody has joined for 30 s (the rendezvous itself did "
			       "not run for 7 s)"));
	end(NULL);
	begin(2, 2);
	core.deadline_given = true;
	join(0);
	now = core.due_ns + 7 * NS_PER_S;
	join(1); /* somebody came: that is over */
	assert_int_equal(simple(0, RDZV_MEET, 1, NULL, 0), 0);
	time_passes(3 * NS_PER_S);
	beat_but(2, -1);
	now = core.due_ns + 20 * NS_PER_S;
	assert_int_equal(simple(0, RDZV_ASK, 1, NULL, 0), 0);
	assert_true(idle_said(0) >= 20 * NS_PER_S);
	assert_non_null(strstr(players[0].text, "(the rendezvous itself did not run for 20 s)"));
	end(NULL);
}

/* We hardly run at all: each look is too late, and comes behind what others said meanwhile. Who is
 * silent is noticed all the same, and nobody else is. */
static void t_hardly_runs(void **state)
{
	(void)state;
	for (uint64_t late = 0; late <= 30; late += 2) {
		int looks = 0;

		begin(3, 3);
		all_join(3);
		while (!core.failure[0] && looks++ < 100) {
			now = core.due_ns + late * NS_PER_S;
			beat_but(3, 1);
			beat_but(3, 1);
			rdzv_core_tick(&core, now);
		}
		told_all(3, -1, RDZV_LOST, "rank 1 (node0, 10.0.0.1) has been silent for 10 s");
		end(NULL);
	}
}

/* Nor is a rank that is missing waited for without end. */
static void t_hardly_runs_and_waits(void **state)
{
	(void)state;
	for (uint64_t late = 0; late <= 30; late += 2) {
		int looks = 0;

		begin(2, 2);
		join(0);
		while (!core.failure[0] && looks++ < 200) {
			now = core.due_ns + late * NS_PER_S;
			beat_but(1, -1);
			rdzv_core_tick(&core, now);
		}
		assert_non_null(strstr(core.failure, "nobody has joined for 30 s"));
		end(NULL);
	}
}

static void t_left_before_a_barrier(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		begin(2, 2);
		all_join(2);
		if (first)
			leave(1, "");
		assert_int_equal(simple(0, RDZV_MEET, 1, NULL, 0), 0);
		if (!first)
			leave(1, "");
		told_all(1, -1, RDZV_LOST,
			 "rank 1 (node0, 10.0.0.1) has left and others wait for it at a "
			 "barrier");
		end(NULL);
	}
	begin(2, 2);
	join(1);
	leave(1, "");
	assert_string_equal(core.failure,
			    "rank 1 (node0, 10.0.0.1) has left before all had joined");
}

/* Whose fault it is that a rank goes, it knows best; without a word it is its own. */
static void t_why_it_left(void **state)
{
	static const struct {
		enum rdzv_why says, means;
		const char *reason;
	} row[] = {{RDZV_GAVE_UP, RDZV_GAVE_UP, "no space left on device"},
		   {RDZV_LOST, RDZV_LOST, "rank 2 of 3 missing at a barrier"},
		   {RDZV_INTERRUPTED, RDZV_INTERRUPTED, "interrupted by SIGINT"},
		   {RDZV_GAVE_UP, RDZV_LOST, ""},
		   {RDZV_INTERRUPTED, RDZV_INTERRUPTED, ""}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		begin(3, 3);
		join(0);
		join(1);
		leave_for(1, row[i].says, row[i].reason);
		assert_int_equal(players[0].type, RDZV_FAILED);
		assert_int_equal(players[0].why, row[i].means);
		join(2); /* too late, and told the same */
		assert_int_equal(players[2].type, RDZV_FAILED);
		assert_int_equal(players[2].why, row[i].means);
		end(NULL);
	}
}

static void t_no_such_why(void **state)
{
	unsigned char buf[64];
	struct wire_out w = {.p = buf, .cap = sizeof(buf)};

	(void)state;
	begin(2, 2);
	join(0);
	wire_put_u32(&w, RDZV_INTERRUPTED + 1);
	wire_put_str(&w, "");
	assert_int_equal(say(0, RDZV_LEAVE, &w), -1);
}

/* The next run's come to the same place while this one ends; and when it has failed they hear why.
 */
static void t_the_next_run_comes(void **state)
{
	struct rdzv_join_msg m;

	(void)state;
	begin(2, 6);
	all_join(2);
	m = join_msg(1);
	assert_int_equal(join_as(2, &m), 0);
	assert_int_equal(players[2].type, RDZV_REFUSED); /* a second rank 1 of this run */
	leave(1, "");
	assert_int_equal(join_as(3, &m), 0);
	assert_int_equal(players[3].type, RDZV_LATER);
	assert_non_null(strstr(players[3].text, "was here and is gone"));
	assert_true(players[3].closed);
	m.size = 3; /* it may be another size */
	assert_int_equal(join_as(4, &m), 0);
	assert_int_equal(players[4].type, RDZV_LATER);
	m.version = "9.9.9";
	assert_int_equal(join_as(5, &m), 0);
	assert_int_equal(players[5].type, RDZV_REFUSED);
	assert_string_equal(core.failure, "");
	leave(0, "");
	assert_true(rdzv_core_finished(&core));
}

#define T(f) cmocka_unit_test_teardown(f, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(t_missing),
		T(t_connection_lost),
		T(t_agent_knows_better),
		T(t_ended_before_join),
		T(t_silence),
		T(t_silence_as_its_machine_has_it),
		T(t_own_sleep),
		T(t_all_slept),
		T(t_left_before_a_barrier),
		T(t_slept_within_a_deadline),
		T(t_hardly_runs),
		T(t_hardly_runs_and_waits),
		T(t_why_it_left),
		T(t_no_such_why),
		T(t_the_next_run_comes),
	};

	return cmocka_run_group_tests_name("rdzv_watch", tests, NULL, NULL);
}
