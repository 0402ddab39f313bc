/* What ranks agree on has numbers of every one of them: one that another rank made up finds
 * nothing here, and asks for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/replay/run.h"
#include "bench/sweep/pairs.h"

#include <math.h>

enum { UNITS = 2, CELLS = UNITS * UNITS, BEYOND = 60 };

static const double made_up[] = {NAN, -INFINITY,  INFINITY, -1e300,   1e300,
				 -5,  -UNITS * 3, UNITS,    UNITS * 8};

/* How what comes out of the next reduction of doubles begins. */
static const double *said;
static size_t said_n;

static int start(struct comm *c, const struct comm_request *q, struct err *e UNUSED)
{
	(void)c;
	if (q->type != DT_DOUBLE || !said_n)
		return 0;
	memcpy(q->recv, said, said_n * sizeof(*said));
	said_n = 0;
	return 0;
}

static int finish(struct comm *c UNUSED, struct err *e UNUSED) { return 0; }

static int no_part(struct comm *c UNUSED, const struct comm_group *g UNUSED, struct comm **ret,
		   struct err *e UNUSED)
{
	*ret = NULL;
	return 0;
}

/* Whoever splits them finds this rank at its place. */
static int is_here(struct comm *c, const struct comm_group *g, struct comm **ret, struct err *e)
{
	assert_in_range(g->rank, 0, g->size - 1);
	assert_int_equal(g->members[g->rank], c->rank);
	return no_part(c, g, ret, e);
}

/* Nobody is of our colour, not even we. */
static int start_alone(struct comm *c, const struct comm_request *q, struct err *e UNUSED)
{
	for (int i = 0; i < c->size * 2; i++)
		((int32_t *)q->recv)[i] = 7;
	return 0;
}

static const struct comm_peer *peer(const struct comm *c, int rank)
{
	static const struct comm_peer there = {.host = "there"};

	if (rank < 0 || rank >= c->size)
		fail_msg("rank %d was looked for", rank);
	return &there;
}

static const struct comm_impl impl = {.caps = {.backend = "told",
					       .kinds = (1u << COLL_KINDS) - 1,
					       .types = (1u << DT_COUNT) - 1,
					       .ops = (1u << OP_COUNT) - 1},
				      .peer = peer,
				      .start = start,
				      .wait = finish,
				      .split = no_part};

/* --- pairs ---------------------------------------------------------------------------------- */

static double cells[BEYOND + CELLS + BEYOND];

static int known(int from, int n)
{
	int known = 0;

	for (int i = from; i < from + n; i++)
		known += !isnan(cells[i]);
	return known;
}

/* How many cells know something once rank 0 has said whom it met, and that all was 1. */
static int known_when(double partner)
{
	const double met[RESULT_DOUBLES] = {partner, 1, 1, 1, 1, 1};
	struct pair_loss loss[BEYOND + CELLS + BEYOND] = {{0}};
	struct comm c = {.impl = &impl, .rank = 1, .size = UNITS};
	struct pair_result all[UNITS];
	int units[UNITS] = {0, 1};
	double *in = cells + BEYOND;
	struct pairs p = {.c = &c,
			  .n = UNITS,
			  .me = -1,
			  .units = units,
			  .gbps = in,
			  .latency = in,
			  .sent = in,
			  .again = in,
			  .loss = loss + BEYOND,
			  .unhindered = in,
			  .all = all};
	struct err e = {0};

	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		cells[i] = NAN;
	said = met;
	said_n = ARRAY_LEN(met);
	assert_int_equal(pairs_try(&p, -1, -1, &e), 0);
	assert_int_equal(known(0, BEYOND) + known(BEYOND + CELLS, BEYOND), 0);
	return known(BEYOND, CELLS);
}

static void a_partner_is_one_of_the_units(void **state UNUSED)
{
	assert_int_equal(known_when(1), 1);
	for (size_t i = 0; i < ARRAY_LEN(made_up); i++)
		assert_int_equal(known_when(made_up[i]), 0);
}

/* --- what is done again --------------------------------------------------------------------- */

static void a_group_is_one_of_the_recording(void **state UNUSED)
{
	AUTO(arena_done) struct arena a = {0};
	static const int ranks[] = {0, 1};
	struct word all[] = {{.seconds = 1, .wrong = 3}, {.group = -1, .seconds = -1}};
	struct replay p = {.t = {.a = &a, .source = "", .ranks = 2}, .all = all};

	(void)traffic_group(&p.t, "", ranks, 2);
	for (size_t i = 0; i <= ARRAY_LEN(made_up); i++) {
		const bool is_known = i == ARRAY_LEN(made_up);
		struct replay_kind k = {0};

		all[0].group = is_known ? 0 : made_up[i];
		run_add_up(&p, 1, &k);
		assert_int_equal(k.done, is_known);
		assert_int_equal(k.wrong, is_known ? 3 : 0);
	}
}

/* --- who is named, how much fits ------------------------------------------------------------ */

/* Not -1: there is room for what says so; the others go on. */
static void who_lacks_memory_is_one_of_the_ranks(void **state UNUSED)
{
	const struct sweep_opts o = {.max = 8};

	for (size_t i = 0; i <= ARRAY_LEN(made_up); i++) {
		const double who = i == ARRAY_LEN(made_up) ? 0 : made_up[i];
		struct comm c = {.impl = &impl, .rank = 1, .size = UNITS};
		struct sweep s = {.o = &o, .comm = &c, .dev = &dev_host};
		struct err e = {0};

		said = &who;
		said_n = 1;
		assert_int_equal(sweep_take_room(&s, &e), who == 0 ? -1 : 0);
		sweep_give_room(&s);
	}
}

static void what_fits_is_no_more_than_here(void **state UNUSED)
{
	static const double fits[] = {NAN, -INFINITY, INFINITY, -1e300, 1e300, -5, 4097, 1e18};

	for (size_t i = 0; i < ARRAY_LEN(fits); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct comm c = {.impl = &impl, .rank = 1, .size = UNITS};
		struct world_run w = {.world = {.local_size = 1}};
		struct rank r = {.a = &a, .w = &w, .comm = &c, .dev = &dev_host};
		struct err e = {0};

		r.sweep = (struct sweep_opts){.min = 8, .max = 4096};
		said = &fits[i];
		said_n = 1;
		assert_int_equal(rank_fit_memory(&r, &e), -1);
		assert_non_null(strstr(e.msg, "do not fit into memory"));
	}
}

static void a_rank_is_of_the_colour_that_it_asked_for(void **state UNUSED)
{
	struct comm_impl split = impl;
	struct comm c = {.impl = &split, .rank = 1, .size = UNITS}, *part;
	struct err e = {0};

	split.start = start_alone;
	split.split = is_here;
	assert_int_equal(comm_split(&c, 3, 0, &part, &e), 0);
}

/* --- texts ---------------------------------------------------------------------------------- */

static void texts_of_others_end(void **state UNUSED)
{
	struct {
		struct hardware all[UNITS];
		char behind[8];
	} m;

	memset(&m, 'x', sizeof(m));
	hardware_add_up(m.all, UNITS);
	for (size_t i = 0; i < UNITS; i++) {
		assert_int_equal(strlen(m.all[i].host), sizeof(m.all[i].host) - 1);
		assert_int_equal(strlen(m.all[i].instance), sizeof(m.all[i].instance) - 1);
		for (size_t k = 0; k < HARDWARE_CARDS; k++)
			assert_int_equal(strlen(m.all[i].cards[k].name),
					 sizeof(m.all[i].cards[k].name) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_partner_is_one_of_the_units),
		cmocka_unit_test(a_group_is_one_of_the_recording),
		cmocka_unit_test(who_lacks_memory_is_one_of_the_ranks),
		cmocka_unit_test(what_fits_is_no_more_than_here),
		cmocka_unit_test(a_rank_is_of_the_colour_that_it_asked_for),
		cmocka_unit_test(texts_of_others_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
