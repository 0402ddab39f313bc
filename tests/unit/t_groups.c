/* Which rank is in which group, as nccl-tests has it and as lists have it; and which group is slow
 * beside its like, from made-up numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/groups_judge.h"

#include <math.h>

/* "0 1 2 0": by rank its group's number, "-" none; or the error. */
static const char *ids_of(const char *text, int size, struct arena *a)
{
	struct groups_spec s;
	struct groups g;
	struct err e = {0};
	char *out = arena_alloc(a, 1024);
	size_t n = 0;

	if (groups_parse(text, a, &s, &e) || groups_of(&s, size, a, &g, &e)) {
		assert_true(e.kind == ERR_USAGE);
		return arena_strdup(a, e.msg);
	}
	*out = '\0';
	for (int i = 0; i < size; i++)
		n += (size_t)(g.of[i] < 0 ? snprintf(out + n, 1024 - n, "%s-", i ? " " : "")
					  : snprintf(out + n, 1024 - n, "%s%d", i ? " " : "",
						     g.v[g.of[i]].id));
	return out;
}

static void as_nccl_tests_counts(void **state)
{
	static const struct {
		const char *text, *ids;
	} rows[] = {
		{"MOD 3", "0 1 2 0 1 2 0 1"},	     {"mod3", "0 1 2 0 1 2 0 1"},
		{"%  3", "0 1 2 0 1 2 0 1"},	     {"DIV 3", "0 0 0 1 1 1 2 2"},
		{"/3", "0 0 0 1 1 1 2 2"},	     {"AND 0x3", "0 1 2 3 0 1 2 3"},
		{"& 6", "0 0 2 2 4 4 6 6"},	     {"mask 0b10", "0 0 2 2 0 0 2 2"},
		{"OR 0x3", "3 3 3 3 7 7 7 7"},	     {"|7 ", "7 7 7 7 7 7 7 7"},
		{"mod 010", "0 1 2 3 4 5 6 7"},	     {"and 0", "0 0 0 0 0 0 0 0"},
		{"mod 2 each 4", "0 0 0 0 1 1 1 1"}, {"mod 1", "0 0 0 0 0 0 0 0"},
		{" div 100", "0 0 0 0 0 0 0 0"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};

		assert_string_equal(ids_of(rows[i].text, 8, &a), rows[i].ids);
	}
}

static void lists(void **state)
{
	static const struct {
		const char *text, *ids;
	} rows[] = {
		{"0-3;4-7", "0 0 0 0 1 1 1 1"},
		{"0,4;1,5;2,6;3,7", "0 1 2 3 0 1 2 3"},
		{"1 - 2 ; 5,7-7", "- 0 0 - - 1 - 1"},
		{"7;0", "1 - - - - - - 0"},
		{"0-8", "--groups: 8 is not one of 8 ranks"},
		{"0-3;3-4", "--groups: rank 3 is there twice"},
		{"3-1", "--groups: 3-1 ends before it begins"},
		{"0-3;", "--groups: at '' there should be ranks, as in 0-3;4-7"},
		{"0,,1", "--groups: at ',1' there should be ranks, as in 0-3;4-7"},
		{"0-9999999999",
		 "--groups: at '0-9999999999' there should be ranks, as in 0-3;4-7"},
		{"0x1", "--groups: at '0x1' there should be ranks, as in 0-3;4-7"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};

		assert_string_equal(ids_of(rows[i].text, 8, &a), rows[i].ids);
	}
}

static void what_says_nothing_is_refused(void **state)
{
	static const char *const rows[] = {"",	      "mod",
					   "mod x",   "mod -1",
					   "mod 8x",  "mod 2 each",
					   "xor 3",   "mod 0b",
					   "mod 0b2", "mod 2 each 0",
					   ";",	      "nodes",
					   "mod 08",  "mask 0x",
					   "or f",    "mod 99999999999",
					   "-",	      "mod 2 3",
					   "div",     "and 0xg1",
					   "% ",      "mod 4294967296000",
					   "each 2",  "0-3;4-7 each 2"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		const char *said = ids_of(rows[i], 8, &a);

		if (!strstr(said, "--groups: "))
			fail_msg("'%s': %s", rows[i], said);
	}
	{
		AUTO(arena_done) struct arena a = {0};

		assert_string_equal(ids_of("mod 0", 8, &a), "--groups: 'mod 0' divides by nothing");
		assert_string_equal(ids_of("DIV 0", 8, &a), "--groups: 'DIV 0' divides by nothing");
	}
}

static void who_is_in_them(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct groups_spec s;
	struct groups g;
	struct err e = {0};

	(void)state;
	assert_int_equal(groups_parse("4-6;1,3", &a, &s, &e), 0);
	assert_int_equal(groups_of(&s, 8, &a, &g, &e), 0);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.members, 5);
	assert_int_equal(g.least, 2);
	assert_int_equal(g.lead, 1); /* rank 1's */
	assert_int_equal(groups_lead_size(&g), 2);
	assert_int_equal(g.v[1].ranks[1], 3);
	assert_string_equal(group_ranks_text(&g.v[0], &a), "ranks 4-6");
	assert_string_equal(group_ranks_text(&g.v[1], &a), "ranks 1, 3");
	assert_int_equal(groups_parse("0,8,16-18,20-21,30;5", &a, &s, &e), 0);
	assert_int_equal(groups_of(&s, 64, &a, &g, &e), 0);
	assert_string_equal(group_ranks_text(&g.v[0], &a), "ranks 0, 8, 16-18, 20, 21, 30");
	assert_string_equal(group_ranks_text(&g.v[1], &a), "rank 5");
	assert_int_equal(groups_parse("mod 2", &a, &s, &e), 0);
	assert_int_equal(groups_of(&s, 1000, &a, &g, &e), 0);
	assert_non_null(strstr(group_ranks_text(&g.v[1], &a), " more"));
	assert_true(strlen(group_ranks_text(&g.v[1], &a)) < 90);
}

/* --- who is slow ------------------------------------------------------------------------------ */

enum { RANKS = 8 };

struct ground {
	struct arena a;
	struct groups g;
	struct hosts spread;
	double gbps[RANKS];
	struct groups_tried tried[RANKS];
	struct group_verdict is[RANKS];
};

/* Hosts of two ranks each; @text's groups with 10 GB/s each. */
static void made(struct ground *x, const char *text)
{
	static const char *const keys[RANKS] = {"a", "a", "b", "b", "c", "c", "d", "d"};
	struct groups_spec s;
	struct err e = {0};

	assert_int_equal(groups_parse(text, &x->a, &s, &e), 0);
	assert_int_equal(groups_of(&s, RANKS, &x->a, &x->g, &e), 0);
	hosts_of(keys, RANKS, &x->a, &x->spread);
	for (int i = 0; i < RANKS; i++) {
		x->gbps[i] = 10;
		x->tried[i] = (struct groups_tried){NAN, NAN, NAN, NAN};
	}
}

static const char *judged(struct ground *x, bool host_memory)
{
	const struct groups_input in = {.g = &x->g,
					.spread = &x->spread,
					.gbps = x->gbps,
					.tried = x->tried,
					.bytes = 1 << 20,
					.host_memory = host_memory};

	return groups_judge(&in, &x->a, x->is);
}

static void ranks_by_turns_on_a_gpu_are_not_judged(void **state)
{
	struct ground x = {0};
	struct groups_input in;

	(void)state;
	made(&x, "div 2");
	in = (struct groups_input){.g = &x.g,
				   .spread = &x.spread,
				   .gbps = x.gbps,
				   .tried = x.tried,
				   .bytes = 1 << 20,
				   .shared_gpu = true};
	assert_string_equal(groups_judge(&in, &x.a, x.is), "ranks share a GPU");
	arena_done(&x.a);
}

static void a_slow_one_is_tried_again_before_it_is_blamed(void **state)
{
	struct ground x = {0};

	(void)state;
	made(&x, "div 2");
	assert_null(judged(&x, true));
	for (int i = 0; i < 4; i++)
		assert_true(x.is[i].is == GROUP_WELL && !x.is[i].low);
	x.gbps[2] = 4;
	assert_null(judged(&x, true));
	assert_true(x.is[2].low && x.is[2].is == GROUP_UNJUDGED && x.is[2].usual == 10 &&
		    x.is[2].like == 4 && x.is[2].best != 2);
	x.tried[2].again = 6; /* it was chance */
	assert_null(judged(&x, true));
	assert_true(!x.is[2].low && x.is[2].is == GROUP_WELL);
	x.tried[2] = (struct groups_tried){4, 40, NAN, NAN}; /* it had no processor */
	assert_null(judged(&x, true));
	assert_true(x.is[2].is == GROUP_WELL && x.is[2].usual == 10);
	x.tried[2] = (struct groups_tried){4, 4, 4, 10};
	assert_null(judged(&x, true));
	assert_true(x.is[2].is == GROUP_SLOW && x.is[0].is == GROUP_WELL);
	x.tried[2].beside = 5; /* so was another one in the same moments */
	assert_null(judged(&x, true));
	assert_true(x.is[2].is == GROUP_DISTURBED);
	arena_done(&x.a);
}

static void of_two_the_worse_one(void **state)
{
	struct ground x = {0};

	(void)state;
	made(&x, "div 4");
	x.gbps[1] = 1;
	x.tried[1] = (struct groups_tried){1, 1, 1, 10};
	assert_null(judged(&x, true));
	assert_true(x.is[1].is == GROUP_SLOW && x.is[0].is == GROUP_WELL && x.is[1].best == 0);
	arena_done(&x.a);
}

static void only_who_is_alike_is_compared(void **state)
{
	struct ground x = {0};

	(void)state;
	made(&x, "0-3;4-6"); /* of another size */
	x.gbps[1] = 1;
	assert_non_null(strstr(judged(&x, false), "no two groups are alike"));
	made(&x, "0-1;2,4"); /* on more hosts */
	x.gbps[1] = 1;
	assert_non_null(strstr(judged(&x, false), "no two groups are alike"));
	made(&x, "mod 2"); /* whose processor is it? */
	x.gbps[1] = 1;
	assert_non_null(strstr(judged(&x, true), "groups share hosts"));
	assert_null(judged(&x, false));
	assert_true(x.is[1].low);
	made(&x, "mod 8");
	assert_non_null(strstr(judged(&x, false), "one rank carries nothing"));
	made(&x, "0-7");
	assert_non_null(strstr(judged(&x, false), "there is one group"));
	made(&x, "div 2");
	x.gbps[0] = x.gbps[1] = x.gbps[2] = x.gbps[3] = NAN; /* it did not come to that */
	assert_non_null(judged(&x, false));
	arena_done(&x.a);
}

static void who_shares_hosts_and_who_is_alike(void **state)
{
	struct ground x = {0};
	size_t hosts;

	(void)state;
	made(&x, "mod 2");
	assert_true(groups_share_hosts(&x.g, &x.spread, &x.a));
	assert_true(groups_are_alike(&x.g, &x.spread, &x.a, &hosts) && hosts == 4);
	made(&x, "div 4");
	assert_false(groups_share_hosts(&x.g, &x.spread, &x.a));
	assert_true(groups_are_alike(&x.g, &x.spread, &x.a, &hosts) && hosts == 2);
	made(&x, "0-3;4-6"); /* and one looks on */
	assert_false(groups_are_alike(&x.g, &x.spread, &x.a, &hosts));
	made(&x, "0-1;2-3");
	assert_false(groups_are_alike(&x.g, &x.spread, &x.a, &hosts));
	arena_done(&x.a);
}

/* --- what was measured --------------------------------------------------------------------------
 */

static void each_by_its_own_ranks_and_size(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const int ids[] = {0, 0, 1, 1, 1, 1, -1};
	const double rank_s[] = {1e-3, 3e-3, 1e-3, 1e-3, 1e-3, 1e-3, 0};
	struct coll_case c = {.coll = coll_find("all_reduce"), .type = DT_FLOAT, .ranks = 2};
	struct sweep_row row = {.c = &c, .all = 7};
	struct groups_book b;
	struct groups g;

	(void)state;
	assert_true(groups_from_ids(ids, 7, &a, &g));
	groups_book_init(&b, &g, c.coll, &a);
	assert_true(isnan(groups_book_best(&b, 0)));
	c.sizes = coll_sizes(c.coll, 4 << 20, c.type, 2);
	groups_book_add(&b, &row); /* nobody's time is known */
	assert_true(isnan(groups_book_best(&b, 0)));
	row.out.rank_s = rank_s;
	groups_book_add(&b, &row);
	assert_true(fabs(groups_book_best(&b, 0) - 4.194304 / 2) < 1e-9);
	assert_true(fabs(groups_book_best(&b, 1) - 4.194304 * 1.5) < 1e-9);
	c.sizes =
		coll_sizes(c.coll, 128 << 20, c.type, 2); /* what small sizes have does not last */
	row.out.rank_s = (const double[]){1, 1, 1, 1, 1, 1, 0};
	groups_book_add(&b, &row);
	assert_true(groups_book_best(&b, 0) < 0.14);
}

/* A broadcast to nobody has a time, too. */
static void one_rank_has_no_bandwidth(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const int ids[] = {0, 0, 1, 2};
	const double rank_s[] = {1e-3, 1e-3, 1e-9, 1e-6};
	struct coll_case c = {.coll = coll_find("broadcast"), .type = DT_FLOAT, .ranks = 2};
	struct sweep_row row = {.c = &c, .all = 4, .out = {.rank_s = rank_s}};
	struct groups_book b;
	struct groups g;

	(void)state;
	c.sizes = coll_sizes(c.coll, 4 << 20, c.type, 2);
	assert_true(groups_from_ids(ids, 4, &a, &g));
	groups_book_init(&b, &g, c.coll, &a);
	groups_book_add(&b, &row);
	assert_true(groups_book_best(&b, 0) > 4);
	assert_true(isnan(groups_book_best(&b, 1)) && isnan(groups_book_best(&b, 2)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_nccl_tests_counts),
		cmocka_unit_test(lists),
		cmocka_unit_test(what_says_nothing_is_refused),
		cmocka_unit_test(who_is_in_them),
		cmocka_unit_test(a_slow_one_is_tried_again_before_it_is_blamed),
		cmocka_unit_test(of_two_the_worse_one),
		cmocka_unit_test(only_who_is_alike_is_compared),
		cmocka_unit_test(ranks_by_turns_on_a_gpu_are_not_judged),
		cmocka_unit_test(who_shares_hosts_and_who_is_alike),
		cmocka_unit_test(each_by_its_own_ranks_and_size),
		cmocka_unit_test(one_rank_has_no_bandwidth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
