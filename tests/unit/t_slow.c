/* Who is slow, from made-up numbers; and where that cannot be known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/slow.h"

#include <math.h>

enum { N = 6 };
enum { PACKETS = 100000 };
static double gbps[N * N], sent[N * N], again[N * N];

static void healthy(void)
{
	for (int i = 0; i < N * N; i++) {
		gbps[i] = i / N == i % N ? NAN : 10 + (i * 7 % 5); /* some spread */
		sent[i] = i / N == i % N ? NAN : PACKETS;
		again[i] = sent[i] * (i % 3) * 0.001;
	}
}

static slow_list find(struct arena *a)
{
	const struct slow_input in = {.n = N, .gbps = gbps, .sent = sent, .again = again};
	slow_list found;

	slow_find(&in, a, &found);
	return found;
}

static void who_is_slow(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	healthy();
	assert_int_equal(find(&a).n, 0);
	for (int p = 0; p < N; p++) /* node 4 cannot receive */
		gbps[p * N + 4] /= 10;
	found = find(&a);
	assert_int_equal(found.n, 1);
	assert_true(found.v[0].kind == SLOW_NODE && found.v[0].a == 4 && found.v[0].in &&
		    !found.v[0].out && found.v[0].partner >= 0 && found.v[0].partner != 4);
	healthy();
	gbps[1 * N + 3] = 2; /* one way between two that do well with others */
	found = find(&a);
	assert_int_equal(found.n, 1);
	assert_true(found.v[0].kind == SLOW_LINK && found.v[0].a == 1 && found.v[0].b == 3);
}

/* Whom a slow node meets is slow with it. */
static slow_list find_slow_from(int first, struct arena *a)
{
	healthy();
	for (int i = 0; i < N * N; i++)
		gbps[i] /= i / N >= first || i % N >= first ? 10 : 1;
	return find(a);
}

static void half_of_them_are_no_measure(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	for (int slow = 1; slow <= N / 2; slow++) {
		found = find_slow_from(N - slow, &a);
		assert_int_equal(found.n, slow);
		for (int i = 0; i < slow; i++)
			assert_true(found.v[i].kind == SLOW_NODE && found.v[i].a == N - slow + i &&
				    found.v[i].partner == 0);
	}
	found = find_slow_from(2, &a); /* who is in the minority may be what is odd */
	assert_int_equal(found.n, 0);
}

static size_t found_with(double a_to_b, double elsewhere, double meanwhile, int node)
{
	AUTO(arena_done) struct arena a = {0};
	double others[N * N];
	const struct slow_input in = {.n = N, .gbps = gbps, .meanwhile = others};
	slow_list found;

	healthy();
	for (int i = 0; i < N * N; i++)
		others[i] = NAN;
	for (int p = 0; p < N && node; p++)
		gbps[1 * N + p] = p == 1 ? NAN : elsewhere;
	gbps[1 * N + 3] = a_to_b;
	others[1 * N + 3] = meanwhile;
	slow_find(&in, &a, &found);
	return found.n;
}

/* What was low while everything was low says nothing; what was low alone does. */
static void by_turns_with_proven_pairs(void **state)
{
	(void)state;
	assert_int_equal(found_with(4, 0, NAN, 0), 1);
	assert_int_equal(found_with(4, 0, 5, 0), 0);
	assert_int_equal(found_with(4, 0, 9, 0), 1);
	assert_int_equal(found_with(4, 0, 99, 0), 1); /* no more than others ever reached */
	assert_int_equal(found_with(4, 4, NAN, 1), 1);
	assert_int_equal(found_with(4, 4, 5, 1), 0);
	assert_int_equal(found_with(4, 4, 9, 1), 1);
}

static void who_loses(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	healthy();
	for (int p = 0; p < N; p++)
		again[p * N + 2] = sent[p * N + 2] * 0.02;
	found = find(&a);
	assert_int_equal(found.n, 1);
	assert_true(found.v[0].kind == LOSSY_NODE && found.v[0].a == 2 && found.v[0].in &&
		    !found.v[0].out);
	healthy();
	again[5 * N + 0] = PACKETS * 0.05;
	found = find(&a);
	assert_int_equal(found.n, 1);
	assert_true(found.v[0].kind == LOSSY_LINK && found.v[0].a == 5 && found.v[0].b == 0);
}

/* A full network, or a shaper: nobody is to be left out. */
static void where_all_lose_nobody_is_named(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	healthy();
	for (int i = 0; i < N * N; i++)
		again[i] = sent[i] * (0.01 + 0.001 * (i % 7));
	found = find(&a);
	assert_int_equal(found.n, 1);
	assert_true(found.v[0].kind == LOSSY_MOST && found.v[0].a < 0 && found.v[0].b < 0);
	assert_true(found.v[0].is >= 0.01 && found.v[0].is < 0.02);
	for (int p = 0; p < N; p++) /* but for one, who is well */
		again[p] = again[p * N] = 0;
	found = find(&a);
	assert_true(found.n == 1 && found.v[0].kind == LOSSY_MOST);
	healthy();
	for (int p = 0; p < N; p++) /* two are not most */
		again[p * N + 1] = again[p * N + 2] = PACKETS * 0.02;
	found = find(&a);
	assert_true(found.n == 2 && found.v[0].kind == LOSSY_NODE);
}

/* As many as a quarter of a MiB is: what one of them makes is no share. */
static void few_packets(double lost_by_each)
{
	healthy();
	for (int i = 0; i < N * N; i++) {
		sent[i] *= 230. / PACKETS;
		again[i] = lost_by_each;
	}
}

/* Two nodes lose a little more than the others: that is proof of loss, and not of who it is. */
static void who_loses_no_more_than_the_rest_is_not_named(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	few_packets(1);
	for (int i = 0; i < N * N; i++)
		again[i] = i / N == 1 || i / N == 2 ? 4 : 1 + (i / N + i % N) % 2;
	found = find(&a);
	assert_true(found.n == 1 && found.v[0].kind == LOSSY_MOST);
	few_packets(0.9);
	again[1 * N + 3] = 5; /* a link */
	found = find(&a);
	assert_int_equal(found.n, 0);
	again[1 * N + 3] = 20;
	found = find(&a);
	assert_true(found.n == 1 && found.v[0].kind == LOSSY_LINK && found.v[0].b == 3);
	few_packets(0.5);
	for (int p = 0; p < N; p++)
		again[1 * N + p] = 20;
	found = find(&a);
	assert_true(found.n == 1 && found.v[0].kind == LOSSY_NODE && found.v[0].a == 1);
}

/* Of four behind a shaper, as it was met: the few links that lost nothing are no rest to go by. */
static void who_is_left_for_losing_nothing_is_no_measure(void **state)
{
	enum { FOUR = 4 };
	static const double packets[FOUR * FOUR] = {NAN,  230,	1026, 282, 306, NAN, 4093, 303,
						    1664, 3088, NAN,  296, 307, 299, 264,  NAN};
	static const double lost[FOUR * FOUR] = {0, 1, 109, 4, 7, 0, 343, 6, 92, 243};
	const struct slow_input in = {.n = FOUR, .gbps = gbps, .sent = packets, .again = lost};
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	for (int i = 0; i < FOUR * FOUR; i++)
		gbps[i] = i / FOUR == i % FOUR ? NAN : 10;
	slow_find(&in, &a, &found);
	assert_true(found.n == 1 && found.v[0].kind == LOSSY_MOST);
}

/* All links from one rack to the other: each of them stands out from those within a rack. */
static void links_that_lose_together_are_named(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	healthy();
	for (int i = 0; i < N * N; i++)
		again[i] = (i / N < N / 2) != (i % N < N / 2) ? sent[i] * 0.05 : 0;
	found = find(&a);
	assert_int_equal(found.n, N * N / 2);
	for (size_t i = 0; i < found.n; i++)
		assert_int_equal(found.v[i].kind, LOSSY_LINK);
}

static size_t of_few(double lost, struct arena *a, slow_list *ret_suspects)
{
	const struct slow_input in = {.n = N, .gbps = gbps, .sent = sent, .again = again};

	again[1 * N + 3] = lost;
	slow_suspects(&in, a, ret_suspects);
	return find(a).n;
}

static void a_packet_lost_of_few_is_chance(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	few_packets(0);
	assert_int_equal(of_few(0, &a, &found), 0);
	assert_int_equal(found.n, 0);
	for (int lost = 1; lost < 5; lost++) { /* he is tried again, and not blamed */
		assert_int_equal(of_few(lost, &a, &found), 0);
		assert_true(found.n == 1 && found.v[0].kind == LOSSY_LINK && !found.v[0].sure);
		assert_true(found.v[0].a == 1 && found.v[0].b == 3 && found.v[0].partner == 3);
	}
	assert_int_equal(of_few(5, &a, &found), 1);
	assert_true(found.n == 1 && found.v[0].sure);
	few_packets(0); /* 1 % is proven by 1700 packets, 0.35 % by none */
	sent[1 * N + 3] = 1700;
	assert_int_equal(of_few(17, &a, &found), 1);
	sent[1 * N + 3] = 1e9;
	assert_int_equal(of_few(3.5e6, &a, &found), 0);
	assert_int_equal(found.n, 0);
	assert_int_equal(of_few(4.1e6, &a, &found), 1);
}

static void what_is_chance_of_each_is_none_of_all(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	slow_list found;

	(void)state;
	few_packets(0);
	for (int p = 0; p < N; p++)
		again[p * N + 2] = 1;
	assert_int_equal(find(&a).n, 0);
	for (int p = 0; p < N; p++)
		again[p * N + 2] = 3;
	found = find(&a);
	assert_int_equal(found.n, 1);
	assert_true(found.v[0].kind == LOSSY_NODE && found.v[0].a == 2 && found.v[0].sure);
	few_packets(1);
	assert_int_equal(find(&a).n, 0);
	few_packets(2);
	found = find(&a);
	assert_true(found.n == 1 && found.v[0].kind == LOSSY_MOST);
}

/* Node 1 sends a tenth; what speaks for it is only that its machine was busy. */
static void busy(double favour_of_1, double favour_of_all, double *unhindered)
{
	healthy();
	for (int i = 0; i < N * N; i++) {
		gbps[i] /= i / N == 1 ? 10 : 1;
		unhindered[i] = gbps[i] * (i / N == 1 ? favour_of_1 : favour_of_all);
	}
}

static void who_is_cleared_by_favours_alone_is_in_doubt(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	double unhindered[N * N], others[N * N];
	const struct slow_input in = {.n = N,
				      .gbps = gbps,
				      .sent = sent,
				      .again = again,
				      .unhindered = unhindered,
				      .meanwhile = others};
	slow_list found;

	(void)state;
	for (int i = 0; i < N * N; i++)
		others[i] = NAN;
	busy(1, 1, unhindered);
	slow_find(&in, &a, &found);
	assert_int_equal(found.n, 1);
	for (int p = 0; p < N; p++) /* so little did others reach in the same moments */
		others[1 * N + p] = 2;
	slow_find(&in, &a, &found);
	assert_int_equal(found.n, 0);
	slow_doubts(&in, &a, &found);
	assert_int_equal(found.n, 1);
	assert_true(found.v[0].kind == SLOW_NODE && found.v[0].a == 1 && found.v[0].out);
	busy(10, 1, unhindered);
	for (int i = 0; i < N * N; i++)
		others[i] = NAN;
	slow_find(&in, &a, &found);
	assert_int_equal(found.n, 0);
	slow_doubts(&in, &a, &found);
	assert_int_equal(found.n, 1);
	healthy();
	for (int p = 0; p < N; p++) /* losses are counted, and not doubted */
		again[p * N + 2] = sent[p * N + 2] * 0.02;
	slow_doubts(&in, &a, &found);
	assert_int_equal(found.n, 0);
}

/* At load 20 a tenth of the bandwidth does not stand out: all were measured by their waiting. */
static void how_long_the_best_waited_for_processors(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	double unhindered[N * N];
	const struct slow_input unknown = {.n = N, .gbps = gbps};
	const struct slow_input in = {.n = N, .gbps = gbps, .unhindered = unhindered};

	(void)state;
	busy(1, 1, unhindered);
	assert_true(slow_hindered(&unknown, &a) == 0);
	assert_true(slow_hindered(&in, &a) == 0);
	busy(4, 1, unhindered); /* one of them: the others are judged */
	assert_true(slow_hindered(&in, &a) < HINDERED_SHARE);
	busy(1, 2, unhindered);
	assert_true(fabs(slow_hindered(&in, &a) - 0.5) < 0.01);
	busy(1, 4, unhindered);
	assert_true(fabs(slow_hindered(&in, &a) - 0.75) < 0.01);
	assert_true(slow_hindered(&in, &a) > HINDERED_SHARE);
}

static void two_nodes_blame_nobody(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const double v[] = {NAN, 1, 1, NAN};
	const struct slow_input in = {.n = 2, .gbps = v};
	slow_list found;

	(void)state;
	slow_find(&in, &a, &found);
	assert_int_equal(found.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_slow),
		cmocka_unit_test(half_of_them_are_no_measure),
		cmocka_unit_test(by_turns_with_proven_pairs),
		cmocka_unit_test(who_loses),
		cmocka_unit_test(where_all_lose_nobody_is_named),
		cmocka_unit_test(who_loses_no_more_than_the_rest_is_not_named),
		cmocka_unit_test(who_is_left_for_losing_nothing_is_no_measure),
		cmocka_unit_test(links_that_lose_together_are_named),
		cmocka_unit_test(a_packet_lost_of_few_is_chance),
		cmocka_unit_test(what_is_chance_of_each_is_none_of_all),
		cmocka_unit_test(two_nodes_blame_nobody),
		cmocka_unit_test(who_is_cleared_by_favours_alone_is_in_doubt),
		cmocka_unit_test(how_long_the_best_waited_for_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
