/* What a rank of many more than can be started here is to do: plans, without a connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/comm/tcp_core.h"

enum { RANKS = 1100, PARTS = 1050 }; /* 8 KiB and more of doubles: each rank reduces a part */

/* A rank without a part keeps no results; that is no lack of memory. */
static void there_may_be_fewer_parts_than_ranks(void **state UNUSED)
{
	static const double send[PARTS];
	static struct tcp_lane lanes[RANKS];
	struct tcp t = {
		.comm = {.rank = RANKS - 1, .size = RANKS},
		.nsockets = 1,
		.nlanes = RANKS,
		.lanes = lanes,
		.q = {.kind = COLL_REDUCE, .send = send, .count = PARTS, .type = DT_DOUBLE}};
	size_t sends = 0;

	plan_request(&t);
	assert_false(t.out_of_memory);
	for (size_t i = 0; i < RANKS; i++)
		sends += lanes[i].sends.n;
	assert_int_equal(sends, PARTS);
	assert_int_equal(t.steps.n, 0);
	free(t.temp);
	arena_done(&t.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_may_be_fewer_parts_than_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
