/* Dumps as a job's ranks wrote them, and what they say together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/core/text.h"
#include "probes/flight/judge.h"

/* A dump is put together entry by entry, in JSON; each entry is "op seq state sizes". */
struct dump {
	struct text t;
	int rank, world;
	uint32_t n;
	int64_t at_ns, written_ns;
	const char *name; /* its file's; NULL: as PyTorch names it */
};

struct scene {
	struct arena a;
	struct flight *f;
	struct flight_verdict v;
	struct err e;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){.f = flight_new()};
	assert_non_null(s->f);
}

static void scene_done(struct scene *s)
{
	flight_free(s->f);
	arena_done(&s->a);
}

static const char *ranks(struct scene *s, int n)
{
	struct text t;

	text_init(&t, &s->a);
	for (int i = 0; i < n; i++)
		text_addf(&t, "%s%d", i ? ", " : "[", i);
	text_add(&t, "]");
	return t.s;
}

static void dump_begin(struct scene *s, struct dump *d, int rank, int world)
{
	*d = (struct dump){.rank = rank, .world = world, .at_ns = 1700000000000000000};
	text_init(&d->t, &s->a);
	text_addf(&d->t,
		  "{\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"%s\"},"
		  "\"1\":{\"name\":\"1\",\"desc\":\"tp\",\"ranks\":\"%s\"}},"
		  "\"version\":\"2.10\",\"entries\":[",
		  ranks(s, world), ranks(s, world));
}

static void add(struct dump *d, int group, const char *op, unsigned seq, const char *state,
		const char *size, unsigned record)
{
	bool p2p = starts_with(op, "send") || starts_with(op, "recv");

	d->at_ns += 1000000;
	text_addf(
		&d->t,
		"%s{\"record_id\":%u,\"pg_id\":%d,\"process_group\":[\"%d\",\"%s\"],"
		"\"collective_seq_id\":%u,\"p2p_seq_id\":%u,\"is_p2p\":%s,"
		"\"profiling_name\":\"nccl:%s\",\"time_created_ns\":%lld,\"input_sizes\":[%s],"
		"\"output_sizes\":[%s],\"input_dtypes\":[\"Float\"],\"output_dtypes\":[\"Float\"],"
		"\"state\":\"%s\",\"timeout_ms\":600000,\"time_discovered_started_ns\":%d}",
		d->n++ ? "," : "", record, group, group, group ? "tp" : "default_pg", p2p ? 0 : seq,
		p2p ? seq : 0, p2p ? "true" : "false", op, (long long)d->at_ns, size, size, state,
		streq(state, "scheduled") ? 0 : 1);
}

static void runs(struct dump *d, int group, unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		add(d, group, "all_reduce", i, "completed", "[4]", d->n);
}

static int dump_end(struct scene *s, struct dump *d)
{
	const char *name = d->name ? d->name : arena_printf(&s->a, "/tmp/rank_%d", d->rank);

	text_add(&d->t, "]}");
	s->e = (struct err){0};
	return flight_take(s->f, name, d->written_ns, d->t.s, d->t.n, &s->e);
}

static const struct flight_cause *judged(struct scene *s)
{
	flight_judge(s->f, &s->a, &s->v);
	return s->v.causes.n ? &s->v.causes.v[0] : NULL;
}

static void is_cause(struct scene *s, const char *id, const char *words)
{
	const struct flight_cause *c = judged(s);

	if (!c || !streq(c->id, id) || !strstr(c->meaning, words))
		fail_msg("not %s (%s): %s: %s", id, words, c ? c->id : "nothing",
			 c		? c->meaning
			 : s->v.healthy ? s->v.healthy
					: "");
}

static void who_never_came_is_named(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	for (int r = 0; r < 5; r++) {
		dump_begin(&s, &d, r, 5);
		runs(&d, 0, 1, 9);
		if (r != 1 && r != 3)
			add(&d, 0, "all_reduce", 10, "started", "[4]", d.n);
		assert_int_equal(dump_end(&s, &d), 0);
	}
	is_cause(&s, "FR-001", "ranks 1 and 3 never entered all_reduce #10 of the default group");
	assert_int_equal(s.v.causes.v[0].nranks, 2);
	assert_int_equal(s.v.causes.v[0].ranks[1], 3);
	assert_null(s.v.healthy);
}

static void all_completed_is_healthy(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	for (int r = 0; r < 3; r++) {
		dump_begin(&s, &d, r, 3);
		runs(&d, 0, 1, 9);
		/* an older one whose end nobody saw has ended when a later one has */
		add(&d, 1, "all_gather", 1, "scheduled", "[4]", d.n);
		runs(&d, 1, 2, 3);
		assert_int_equal(dump_end(&s, &d), 0);
	}
	assert_null(judged(&s));
	assert_non_null(s.v.healthy);
	assert_false(s.v.is_empty);
}

/* Rank 1 has completed what follows: there it waits for nobody, though its dump says "started". */
static void what_is_behind_a_completed_one_is_over(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	for (int r = 0; r < 2; r++) {
		dump_begin(&s, &d, r, 2);
		runs(&d, 0, 1, 4);
		add(&d, 0, "all_reduce", 5, "started", "[4]", d.n);
		if (r)
			add(&d, 0, "all_reduce", 6, "completed", "[4]", d.n);
		d.written_ns = d.at_ns + 1000000000;
		assert_int_equal(dump_end(&s, &d), 0);
	}
	assert_null(judged(&s));
	assert_non_null(strstr(s.v.healthy, "nothing hangs"));
}

/* The buffer of rank 1 begins behind what rank 0 waits in. */
static void what_fell_off_is_not_taken_for_absent(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	dump_begin(&s, &d, 0, 2);
	add(&d, 1, "all_reduce", 5, "started", "[4]", 5);
	assert_int_equal(dump_end(&s, &d), 0);
	dump_begin(&s, &d, 1, 2);
	for (unsigned i = 4000; i < 4100; i++)
		add(&d, 1, "all_reduce", i, "completed", "[4]", i);
	assert_int_equal(dump_end(&s, &d), 0);
	is_cause(&s, "FR-010",
		 "whether rank 1 entered it has fallen off its buffer of 100 entries");
	/* 4095 back, one entry each, and a quarter more */
	assert_string_equal(
		s.v.causes.v[0].fix.v[0],
		"export TORCH_NCCL_TRACE_BUFFER_SIZE=6000   # on all ranks, then run again");
}

static void another_run_is_left_out(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	for (int r = 0; r < 3; r++) {
		dump_begin(&s, &d, r, 3);
		d.at_ns += r == 2 ? 0 : 7200ll * 1000000000; /* rank 2's is hours older */
		runs(&d, 0, 1, 9);
		if (r != 2)
			add(&d, 0, "all_reduce", 10, "started", "[4]", d.n);
		assert_int_equal(dump_end(&s, &d), 0);
	}
	is_cause(&s, "FR-009", "there is no dump of rank 2");
	assert_int_equal(s.v.dumps, 2);
	assert_int_equal(s.v.causes.n, 2);
	assert_string_equal(s.v.causes.v[1].id, "FR-011");
	assert_non_null(strstr(s.v.causes.v[1].meaning, "rank 2"));
}

static void another_world_is_left_out(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	for (int r = 0; r < 3; r++) {
		dump_begin(&s, &d, r, r == 2 ? 8 : 2);
		d.at_ns += r == 2 ? 0 : 60ll * 1000000000;
		runs(&d, 0, 1, 9);
		assert_int_equal(dump_end(&s, &d), 0);
	}
	is_cause(&s, "FR-011", "that of rank 2 is of another run");
	assert_non_null(s.v.healthy);
}

static void of_two_the_newer_is_taken(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	for (int i = 0; i < 3; i++) {
		dump_begin(&s, &d, i == 2 ? 0 : i, 2);
		d.name = i == 2 ? "/old/rank_0" : NULL;
		runs(&d, 0, 1, i == 2 ? 8 : 9);
		if (i == 2)
			add(&d, 0, "all_reduce", 9, "started", "[4]", d.n);
		d.at_ns += i == 2 ? 0 : 1000000000;
		if (i != 2)
			add(&d, 0, "all_reduce", 10, "completed", "[4]", d.n);
		assert_int_equal(dump_end(&s, &d), 0);
	}
	is_cause(&s, "FR-011", "two dumps of rank 0");
	assert_non_null(s.v.healthy);
}

/* Dumped while it ran: what has waited for moments is no hang; for minutes, or as long as it was
 * told to wait, it is. */
static void what_is_under_way_is_no_hang(void **state UNUSED)
{
	static const struct {
		int64_t waited_s;
		const char *timeout; /* instead of 600000, in as many letters */
		bool hangs;
	} cases[] = {{-1, NULL, false}, {1, NULL, false},    {15, NULL, false},
		     {60, NULL, true},	{4, "  4000", true}, {1, "  4000", false}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(scene_done) struct scene s;
		struct dump d;
		char *told;

		scene_init(&s);
		for (int r = 0; r < 2; r++) {
			dump_begin(&s, &d, r, 2);
			runs(&d, 0, 1, 9);
			if (r)
				add(&d, 0, "all_reduce", 10, "started", "[4]", d.n);
			d.written_ns = d.at_ns + 1000000000ll * cases[i].waited_s;
			for (told = d.t.s; cases[i].timeout && (told = strstr(told, ":600000,"));)
				memcpy(told + 1, cases[i].timeout, strlen(cases[i].timeout));
			assert_int_equal(dump_end(&s, &d), 0);
		}
		if (cases[i].hangs)
			is_cause(&s, "FR-001", "rank 0 never entered");
		else
			assert_null(judged(&s));
	}
}

/* A file's time says little where it is older than what it holds, or where another rank went on for
 * minutes meanwhile; a copy's, where it is younger than PyTorch waits. */
static void times_of_copies_are_not_believed(void **state UNUSED)
{
	static const struct {
		int64_t written_s, other_s; /* after rank 1 began to wait */
		bool hangs, is_copy;
	} cases[] = {{5, 0, false, false},  {5, 300, true, false},  {-40, -30, true, false},
		     {620, 0, true, false}, {86400, 0, true, true}, {86400, 300, true, true}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const int64_t second_ns = 1000000000;
		AUTO(scene_done) struct scene s;
		struct dump d;
		int64_t at;

		scene_init(&s);
		dump_begin(&s, &d, 1, 2);
		runs(&d, 0, 1, 9);
		add(&d, 0, "all_reduce", 10, "started", "[4]", d.n);
		at = d.at_ns;
		d.written_ns = at + second_ns * cases[i].written_s;
		assert_int_equal(dump_end(&s, &d), 0);
		dump_begin(&s, &d, 0, 2);
		runs(&d, 0, 1, 9);
		d.at_ns = at + second_ns * cases[i].other_s;
		add(&d, 1, "broadcast", 1, "completed", "[4]", d.n);
		d.written_ns = at + second_ns * cases[i].written_s;
		assert_int_equal(dump_end(&s, &d), 0);
		if (cases[i].hangs)
			is_cause(&s, "FR-001", "rank 0 never entered");
		else
			assert_null(judged(&s));
		assert_int_equal(s.v.notes.n, cases[i].is_copy);
		if (cases[i].is_copy)
			assert_non_null(strstr(s.v.notes.v[0], "it is a copy"));
	}
}

/* A number that is there twice, a rank that is in no list of its group: of damaged dumps. What
 * is said is whole all the same. */
static void damaged_dumps_do_no_harm(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	for (int r = 0; r < 2; r++) {
		dump_begin(&s, &d, r, 3);
		add(&d, 0, "all_reduce", 2, "completed", "[4]", 0);
		add(&d, 0, "all_reduce", 2, "started", "[4]", 1);
		assert_int_equal(dump_end(&s, &d), 0);
	}
	is_cause(&s, "FR-009", "ranks 0 and 1 wait in all_reduce #2");
	scene_done(&s);
	scene_init(&s);
	dump_begin(&s, &d, 7, 3);
	add(&d, 0, "all_reduce", 2, "started", "[4]", 0);
	assert_int_equal(dump_end(&s, &d), -1);
	assert_non_null(strstr(s.e.msg, "of which rank of its groups"));
}

static void ranks_are_read_from_names(void **state UNUSED)
{
	static const struct {
		const char *name;
		int rank;
	} cases[] = {{"/tmp/nccl_trace_rank_3", 3},
		     {"comm_traces/rank_12", 12},
		     {"nccl_trace_rank_7.json", 7},
		     {"rank-4.pickle", 4},
		     {"/tmp/run2/dump", -1},
		     {"rank_5_dump", 5},
		     {"trace.8", 8},
		     {"rank_3_step_100", 3},
		     {"nccl_trace_rank_2_1764000000.pickle", 2},
		     {"ranks_of_rank", -1},
		     {"x99999999999999999999", -1},
		     {"/tmp/rank_2/trace", -1},
		     {"", -1}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (flight_rank_of(cases[i].name) != cases[i].rank)
			fail_msg("%s: %d", cases[i].name, flight_rank_of(cases[i].name));
}

/* A name without a rank: a message names the sender; else it is not taken. */
static void a_rank_is_known_by_its_messages(void **state UNUSED)
{
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	dump_begin(&s, &d, 1, 2);
	d.name = "stdin";
	add(&d, 1, "send 1->0", 1, "started", "[4]", 0);
	assert_int_equal(dump_end(&s, &d), 0);
	assert_int_equal(s.f->dumps.v[0].rank, 1);
	dump_begin(&s, &d, 1, 2);
	d.name = "stdin";
	runs(&d, 0, 1, 2);
	assert_int_equal(dump_end(&s, &d), -1);
	assert_non_null(strstr(s.e.msg, "of which rank"));
}

static void what_is_no_dump_is_refused(void **state UNUSED)
{
	static const char *const wrong[] = {
		"{\"pg_config\":1}", "{\"pg_status\":{}}",     "[]",	     "[1,2]",
		"{\"entries\":{}}",  "{\"pg_config\":{\"0\":", "\x80\x02}.", "\x80\x02](e.",
	};
	AUTO(scene_done) struct scene s;

	scene_init(&s);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		s.e = (struct err){0};
		assert_int_equal(flight_take(s.f, "rank_0", 0, wrong[i], strlen(wrong[i]), &s.e),
				 -1);
		assert_non_null(strstr(s.e.msg, "cannot read the dump rank_0"));
		assert_true(*s.e.hint);
	}
	assert_int_equal(s.f->dumps.n, 0);
}

static void logs_are_not_taken_for_dumps(void **state UNUSED)
{
	static const char *const logs[] = {
		"",
		"{",
		"{\"a\":1}",
		"[rank3]: failed",
		"{\"msg\":\"pg_config is \\\"pg_config\\\"\"}",
		"#!/bin/sh",
		"\x80",
		"\x80\x02",
		"[\"pg_config\"",
		"{\"distributedInfo\":{\"pg_config\": [{\"pg_name\":\"0\"}]},\"traceEvents\":[",
	};

	for (size_t i = 0; i < ARRAY_LEN(logs); i++)
		if (flight_begins(logs[i], strlen(logs[i])))
			fail_msg("%s", logs[i]);
	assert_true(flight_begins("\x80\x02"
				  "ctorch",
				  8));
	assert_true(flight_begins(" {\"version\":\"2\",\"pg_config\":{}}", 31));
}

/* Sizes may be each rank's own as long as nobody waits for them: they are not compared in pairs. */
static void many_ranks_of_many_sizes_take_no_time(void **state UNUSED)
{
	enum { RANKS = 400, LAST = 100, ODD = 7 };
	AUTO(scene_done) struct scene s;
	struct dump d;
	clock_t began;

	scene_init(&s);
	for (int r = 0; r < RANKS; r++) {
		dump_begin(&s, &d, r, RANKS);
		for (unsigned i = 1; i < LAST; i++)
			add(&d, 0, "all_reduce", i, "completed", arena_printf(&s.a, "[%d]", r + 1),
			    d.n);
		add(&d, 0, "all_reduce", LAST, "started", r == ODD ? "[2, 2]" : "[5]", d.n);
		assert_int_equal(dump_end(&s, &d), 0);
	}
	began = clock(); /* of this process, not of the day */
	is_cause(&s, "FR-003", "rank 7 gave the sizes");
	assert_true(clock() - began < 0.4 * CLOCKS_PER_SEC);
}

/* Who called what most called is not odd, whatever sizes it gave. */
static void another_op_is_told_of_those_that_called_it(void **state UNUSED)
{
	static const char *const ops[] = {"all_reduce", "all_reduce", "all_reduce", "broadcast",
					  "broadcast"};
	static const char *const sizes[] = {"[1]", "[2]", "[3]", "[4]", "[4]"};
	AUTO(scene_done) struct scene s;
	struct dump d;

	scene_init(&s);
	for (int r = 0; r < 5; r++) {
		dump_begin(&s, &d, r, 5);
		add(&d, 0, ops[r], 1, "completed", sizes[r], d.n);
		add(&d, 0, "all_reduce", 2, "started", "[4]", d.n);
		assert_int_equal(dump_end(&s, &d), 0);
	}
	is_cause(&s, "FR-002", "ranks 3 and 4 called broadcast");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_never_came_is_named),
		cmocka_unit_test(all_completed_is_healthy),
		cmocka_unit_test(what_is_behind_a_completed_one_is_over),
		cmocka_unit_test(what_fell_off_is_not_taken_for_absent),
		cmocka_unit_test(another_run_is_left_out),
		cmocka_unit_test(another_world_is_left_out),
		cmocka_unit_test(of_two_the_newer_is_taken),
		cmocka_unit_test(what_is_under_way_is_no_hang),
		cmocka_unit_test(times_of_copies_are_not_believed),
		cmocka_unit_test(damaged_dumps_do_no_harm),
		cmocka_unit_test(many_ranks_of_many_sizes_take_no_time),
		cmocka_unit_test(another_op_is_told_of_those_that_called_it),
		cmocka_unit_test(ranks_are_read_from_names),
		cmocka_unit_test(a_rank_is_known_by_its_messages),
		cmocka_unit_test(what_is_no_dump_is_refused),
		cmocka_unit_test(logs_are_not_taken_for_dumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
