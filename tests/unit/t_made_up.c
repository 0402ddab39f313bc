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
	const double met[RESULT_DOUBLES] = {partner, 1, 1, 1, 1};
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
			  .lost = in,
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_partner_is_one_of_the_units),
		cmocka_unit_test(a_group_is_one_of_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
