/* What a recording becomes: PyTorch's names as ours, one order of all ranks, the step that repeats,
 * and the text that ranks get of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/replay/named.h"
#include "bench/replay/period.h"
#include "bench/replay/replay.h"
#include "bench/replay/source.h"
#include "bench/replay/window.h"

#include <math.h>
#include <time.h>

/* --- names -------------------------------------------------------------------------------- */

static void names_are_known(void **state)
{
	static const struct {
		const char *op, *as;
		size_t in, out, ranks, count;
		bool uneven;
	} rows[] = {
		{"all_reduce", "all_reduce", 10, 10, 4, 10, false},
		{"allreduce_coalesced", "all_reduce", 10, 10, 4, 10, false},
		{"all_reduce_barrier", "barrier", 1, 1, 4, 1, false},
		{"_allgather_base", "all_gather", 5, 20, 4, 5, false},
		{"all_gather", "all_gather", 5, 17, 4, 5, true},
		{"_reduce_scatter_base", "reduce_scatter", 20, 5, 4, 5, false},
		{"reduce_scatter_tensor_coalesced", "reduce_scatter", 20, 4, 4, 5, true},
		{"all_to_all", "alltoall", 40, 40, 4, 10, false},
		{"alltoall_base", "alltoall", 41, 43, 4, 11, true},
		{"_broadcast_oop", "broadcast", 7, 7, 4, 7, false},
		{"gather", "gather", 7, 0, 4, 7, false},
		{"scatter", "scatter", 28, 7, 4, 7, false},
		{"_reduce_oop", "reduce", 7, 7, 4, 7, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct named_op op;
		bool uneven;

		assert_true(named_op(rows[i].op, &op));
		assert_string_equal(op.as, rows[i].as);
		assert_int_equal(named_count(&op, rows[i].in, rows[i].out, rows[i].ranks, &uneven),
				 rows[i].count);
		assert_int_equal(uneven, rows[i].uneven);
	}
}

static void what_nobody_knows_is_none(void **state)
{
	static const char *const ops[] = {
		"",	     "fancy",	"allreduce_sparse",
		"send 0->1", "_______", "an_operation_with_a_name_longer_than_any_of_pytorchs"};
	struct named_op op;
	enum dtype t;
	size_t each;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		assert_false(named_op(ops[i], &op));
	assert_false(named_type("QInt8", &t, &each));
	assert_true(named_type("ComplexFloat", &t, &each));
	assert_int_equal(dtype_size(t) * each, 8);
}

/* --- a step ------------------------------------------------------------------------------- */

static size_t period_of(const char *letters)
{
	uint32_t s[400];
	size_t n = strlen(letters);

	assert_true(n <= ARRAY_LEN(s));
	for (size_t i = 0; i < n; i++)
		s[i] = (uint32_t)letters[i];
	return period_find(s, n);
}

static void steps_are_found(void **state)
{
	static const struct {
		const char *s;
		size_t period;
	} rows[] = {
		{"abcabcabc", 3},
		{"xyzzyabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc",
		 3},
		{"aaaabaaaabaaaabaaaabaaaab", 5},
		{"aaaaaaaa", 1},
		{"abababSabababababababababababababababab", 2},
		{"ccabccabccab", 4},
		{"abcdefgh", 0},
		{"a", 0},
		{"", 0},
		{"abcdeabfgh", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (period_of(rows[i].s) != rows[i].period)
			fail_msg("%s: %zu", rows[i].s, period_of(rows[i].s));
}

static void the_last_whole_step_is_taken(void **state)
{
	const uint32_t s[] = {9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 7};

	(void)state;
	assert_int_equal(period_last(s, ARRAY_LEN(s), 3), 7);
	assert_int_equal(period_last(s, 2, 2), 0);
}

/* --- an order ----------------------------------------------------------------------------- */

static void each_ranks_own_order_is_kept(void **state)
{
	/* ranks 0 and 1: a b d; ranks 2 and 3: c d; d is of all */
	const uint32_t calls[] = {0, 1, 3, 0, 1, 3, 2, 3, 2, 3}, from[] = {0, 3, 6, 8, 10};
	AUTO(arena_done) struct arena a = {0};
	struct order_event e[4] = {0};
	struct order o = {calls, from, 4, e, 4};

	(void)state;
	assert_int_equal(order_find(&o, &a), 0);
	assert_int_equal(e[0].level, 0);
	assert_int_equal(e[1].level, 1);
	assert_int_equal(e[2].level, 0);
	assert_int_equal(e[3].level, 2);
}

static void orders_that_do_not_agree_end(void **state)
{
	const uint32_t calls[] = {0, 1, 2, 0, 2, 1}, from[] = {0, 3, 6};
	AUTO(arena_done) struct arena a = {0};
	struct order_event e[3] = {0};
	struct order o = {calls, from, 2, e, 3};

	(void)state;
	assert_int_equal(order_find(&o, &a), 2);
	assert_int_equal(e[0].level, 0);
	assert_true(e[1].level != e[2].level);
	assert_true(e[1].level > 0 && e[2].level > 0);
}

/* --- traffic ------------------------------------------------------------------------------ */

static const int pairs[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};

/* Pairs in a row that send, and all. */
static void fill(struct traffic *t, struct arena *a)
{
	static const int all[] = {0, 1, 2, 3};
	struct traffic_kind k = {.as = "send",
				 .coll = coll_find("broadcast"),
				 .type = DT_BFLOAT16,
				 .count = 1000,
				 .then_us = NAN,
				 .waited_us = NAN};
	uint32_t kind, *groups = arena_alloc(a, 2 * sizeof(*groups));

	*t = (struct traffic){.a = a, .source = "", .ranks = 4, .step_s = NAN};
	for (size_t i = 0; i < 3; i++)
		(void)traffic_group(t, "pp", pairs[i], 2);
	kind = traffic_kind(t, &k);
	for (uint32_t i = 0; i < 3; i++)
		traffic_joins(t, kind, i);
	t->kinds.v[kind].times = 1.5;
	k = (struct traffic_kind){.as = "all_reduce", .coll = coll_find("all_reduce")};
	k.family = t->groups.v[traffic_group(t, "", all, 4)].family;
	k.type = DT_FLOAT;
	k.count = 1 << 20;
	kind = traffic_kind(t, &k);
	traffic_joins(t, kind, 3);
	t->kinds.v[kind].times = 2;
	groups[0] = 0;
	groups[1] = 2;
	*LIST_ADD(a, &t->moves) = (struct traffic_move){0, 2, groups};
	*LIST_ADD(a, &t->moves) = (struct traffic_move){1, 1, t->kinds.v[1].groups.v};
}

static void groups_that_lie_alike_are_a_family(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct traffic t;
	uint32_t turn[4], all[] = {0, 1, 2};

	(void)state;
	fill(&t, &a);
	assert_int_equal(t.families.n, 2);
	assert_int_equal(traffic_group(&t, "pp", pairs[1], 2), 1);
	assert_int_equal(t.groups.v[traffic_group(&t, "pp", pairs[3], 2)].family, 2);
	assert_int_equal(traffic_turns(&t, all, 3, turn), 3);
	assert_int_equal(traffic_turns(&t, all + 0, 1, turn), 1);
	all[1] = 2;
	assert_int_equal(traffic_turns(&t, all, 2, turn), 1);
}

static void what_moves_most_comes_first(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct traffic t;

	(void)state;
	fill(&t, &a);
	traffic_close(&t);
	assert_string_equal(t.kinds.v[0].as, "all_reduce");
	assert_int_equal(t.moves.v[0].kind, 1);
	assert_int_equal(t.moves.v[1].kind, 0);
	t.kinds.v[1].times = 0;
	traffic_close(&t);
	assert_int_equal(t.kinds.n, 1);
	assert_int_equal(t.moves.n, 1);
}

static void a_text_has_all_of_it(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct traffic t, back;
	const char *text;

	(void)state;
	fill(&t, &a);
	text = traffic_pack(&t);
	assert_non_null(text);
	assert_int_equal(traffic_unpack(text, strlen(text), &a, &back), 0);
	assert_int_equal(back.ranks, 4);
	assert_int_equal(back.groups.n, 4);
	assert_int_equal(back.kinds.n, 2);
	assert_string_equal(back.kinds.v[0].as, "send");
	assert_ptr_equal(back.kinds.v[0].coll, coll_find("broadcast"));
	assert_int_equal(back.kinds.v[0].groups.n, 3);
	assert_int_equal(back.kinds.v[1].count, 1 << 20);
	assert_true(back.kinds.v[0].times == 1.5);
	assert_int_equal(back.moves.n, 2);
	assert_int_equal(back.moves.v[0].n, 2);
	assert_int_equal(back.moves.v[0].groups[1], 2);
	assert_int_equal(back.moves.v[1].groups[0], 3);
	assert_string_equal(traffic_pack(&back), text);
}

static void too_much_goes_without_the_order(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct traffic t, back;
	const char *text;

	(void)state;
	fill(&t, &a);
	for (size_t i = 0; i < 40000; i++) {
		const struct traffic_move again = t.moves.v[0];

		*LIST_ADD(&a, &t.moves) = again;
	}
	text = traffic_pack(&t);
	assert_non_null(text);
	assert_int_equal(t.moves.n, 0);
	assert_int_equal(traffic_unpack(text, strlen(text), &a, &back), 0);
	assert_int_equal(back.moves.n, 0);
}

static void a_wrong_text_is_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"1 4\n",
		"2 4\ng 0 0-3\nk a all_reduce 7 9 0 0 1 0\n",
		"1 1\ng 0 0\nk a all_reduce 7 9 0 0 1 0\n",
		"1 4\ng 0 0-4\nk a all_reduce 7 9 0 0 1 0\n",
		"1 4\ng 0 0 0\nk a all_reduce 7 9 0 0 1 0\n",
		"1 4\ng 1 0-3\nk a all_reduce 7 9 0 0 1 0\n",
		"1 4\ng 0 0-3\ng 0 0-1\nk a all_reduce 7 9 0 0 1 0\n",
		"1 4\nk a all_reduce 7 9 0 0 1 0\n",
		"1 4\ng 0 0-3\nk a nothing 7 9 0 0 1 0\n",
		"1 4\ng 0 0-3\nk a all_reduce 99 9 0 0 1 0\n",
		"1 4\ng 0 0-3\nk a all_reduce 7 0 0 0 1 0\n",
		"1 4\ng 0 0-3\nk a all_reduce 7 9 0 0 0 0\n",
		"1 4\ng 0 0-3\nk a all_reduce 7 9 0 0 1\n",
		"1 4\ng 0 0-3\nk a all_reduce 7 9 0 0 1 1\n",
		"1 4\ng 0 0-3\nk a all_reduce 7 9 0 0 1 0\nm 1\n",
		"1 4\ng 0 0-3\nk a all_reduce 7 9 0 0 1 0\nm 0 1\n",
		"1 4\ng 0 0-3\nk a all_reduce 7 9 0 0 1 0\nx\n",
		"1 4\ng 0 0-3\nk a all_reduce 7 9 0 0 1 0",
		"1 4\ng 0 3-0\nk a all_reduce 7 9 0 0 1 0\n",
		"1 99999999999999999999\n",
	};
	static const char good[] = "1 4\ng 0 0-3\nk a all_reduce 7 9 0 0 1 0\nm 0\n";
	AUTO(arena_done) struct arena a = {0};
	struct traffic t;

	(void)state;
	assert_int_equal(traffic_unpack(good, sizeof(good) - 1, &a, &t), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!traffic_unpack(rows[i], strlen(rows[i]), &a, &t))
			fail_msg("taken: %s", rows[i]);
	for (size_t n = 0; n < sizeof(good) - 1; n++) /* cut anywhere it ends, well or not */
		(void)traffic_unpack(good, n, &a, &t);
}

/* --- what it adds up to ------------------------------------------------------------------- */

static void the_busiest_rank_counts(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct replay_kind kinds[2] = {{.done = true, .us = 100, .scale = 1},
				       {.done = true, .us = 1000, .scale = 1}};
	struct replay_sum sum;
	struct traffic t;

	(void)state;
	fill(&t, &a);
	t.kinds.v[0].then_us = 400;
	t.kinds.v[0].waited_us = 800;
	t.kinds.v[1].then_us = NAN;
	replay_add_up(&t, kinds, &a, &sum);
	assert_int_equal(sum.rank, 1); /* in two pairs */
	assert_true(fabs(sum.now_s - (2 * 1.5 * 100 + 2 * 1000) / 1e6) < 1e-9);
	assert_true(fabs(sum.timed_s - 2 * 1.5 * 100 / 1e6) < 1e-9);
	assert_true(fabs(sum.then_s - 2 * 1.5 * 400 / 1e6) < 1e-9);
	assert_true(fabs(sum.waited_s - 2 * 1.5 * 800 / 1e6) < 1e-9);
	assert_true(sum.cut == 0);
	kinds[1].done = false;
	replay_add_up(&t, kinds, &a, &sum);
	assert_true(sum.cut == 2);
}

/* --- what the Inspector recorded ------------------------------------------------------------ */

static void put(struct insp_book *b, const char *comm, int rank, int ranks, double bytes, double at)
{
	char host[32];
	const struct insp_record r = {
		.comm = {comm, strlen(comm)},
		.host = {host, (size_t)snprintf(host, sizeof(host), "%s-%d", comm, rank / 8)},
		.coll = {"AllReduce", 9},
		.timing = {"kernel_gpu", 10},
		.rank = rank,
		.ranks = ranks,
		.hosts = ranks > 8 ? ranks / 8 : 1,
		.pid = 100 + rank,
		.at_us = at,
		.sn = 1,
		.bytes = bytes,
		.us = 100,
		.busbw = 100};

	assert_true(insp_book_add(b, &r));
}

/* Of each size all ranks are looked at, once. */
static void many_ranks_and_sizes_take_no_time(void **state UNUSED)
{
	enum { RANKS = 16384, SIZES = 120 };
	AUTO(arena_done) struct arena a = {0};
	struct insp_book b = {.a = &a};
	struct traffic t = {.a = &a};
	struct err e = {0};
	clock_t begin;
	double bytes = 1024;

	for (int i = 0; i < RANKS; i++)
		put(&b, "0xa", i, RANKS, bytes, 1e6);
	for (int i = 1; i < SIZES; i++)
		put(&b, "0xa", 0, RANKS, bytes *= 1.2, 1e6);
	begin = clock();
	assert_int_equal(source_inspector(&b, &t, &e), 0);
	assert_true(clock() - begin < 4 * CLOCKS_PER_SEC);
	assert_int_equal(t.ranks, RANKS);
	assert_true(t.kinds.n > SIZES / 2);
}

/* What was there at other times, and is joined by nothing, is another job's. */
static void the_newest_job_is_taken(void **state UNUSED)
{
	static const struct {
		double begin_us, end_us; /* of a second one */
		int ranks;		 /* of what is done again */
		bool mixed;
	} cases[] = {{1e9, 2e9, 3, true}, {4e9, 5e9, 2, true}, {2.5e9, 5e9, 5, false}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct insp_book b = {.a = &a};
		struct traffic t = {.a = &a};
		struct err e = {0};

		for (int k = 0; k < 6; k++)
			put(&b, "0xa", k % 3, 3, 1024, k < 3 ? 2.1e9 : 3e9);
		for (int k = 0; k < 4; k++)
			put(&b, "0xb", k % 2, 2, 1024, k < 2 ? cases[i].begin_us : cases[i].end_us);
		assert_int_equal(source_inspector(&b, &t, &e), 0);
		assert_int_equal(t.ranks, cases[i].ranks);
		assert_int_equal(t.is_mixed, cases[i].mixed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_known),
		cmocka_unit_test(what_nobody_knows_is_none),
		cmocka_unit_test(steps_are_found),
		cmocka_unit_test(the_last_whole_step_is_taken),
		cmocka_unit_test(each_ranks_own_order_is_kept),
		cmocka_unit_test(orders_that_do_not_agree_end),
		cmocka_unit_test(groups_that_lie_alike_are_a_family),
		cmocka_unit_test(what_moves_most_comes_first),
		cmocka_unit_test(a_text_has_all_of_it),
		cmocka_unit_test(too_much_goes_without_the_order),
		cmocka_unit_test(a_wrong_text_is_refused),
		cmocka_unit_test(the_busiest_rank_counts),
		cmocka_unit_test(many_ranks_and_sizes_take_no_time),
		cmocka_unit_test(the_newest_job_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
