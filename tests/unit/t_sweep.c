/* How often a sweep asks for what: -n, -w, -m, -c and -z, on a communicator that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/dev/dev.h"
#include "bench/sweep/sweep.h"

static struct counts {
	unsigned asked, barriers; /* asked: of floats; doubles are what ranks agree on */
	unsigned under_way, most_under_way;
} count;

/* One rank: what it sends is what comes out. */
static int start(struct comm *c, const struct comm_request *q, struct err *e)
{
	(void)c;
	(void)e;
	count.barriers += q->kind == COLL_BARRIER;
	if (q->kind == COLL_BARRIER)
		return 0;
	if (q->send != q->recv)
		memcpy(q->recv, q->send, q->count * dtype_size(q->type));
	count.asked += q->type == DT_FLOAT;
	if (++count.under_way > count.most_under_way)
		count.most_under_way = count.under_way;
	return 0;
}

static int wait_for(struct comm *c, struct err *e)
{
	(void)c;
	(void)e;
	count.under_way = 0;
	return 0;
}

static const struct comm_impl counting = {
	.caps = {.backend = "counting",
		 .kinds = (1u << COLL_KINDS) - 1,
		 .types = (1u << DT_COUNT) - 1,
		 .ops = (1u << OP_COUNT) - 1,
		 .memory = COMM_HOST,
		 .in_place_exchange = true},
	.start = start,
	.wait = wait_for,
};

static struct counts swept(const struct sweep_opts *o)
{
	struct comm c = {.impl = &counting, .size = 1};
	struct sweep s = {.o = o, .comm = &c, .dev = &dev_host};
	struct err e = {0};

	count = (struct counts){0};
	assert_int_equal(sweep_run(&s, &e), 0);
	assert_int_equal(s.rows, sweep_count(o, 1));
	return count;
}

static struct sweep_opts of(uint64_t iters, uint64_t warmup, uint64_t aggregate)
{
	return (struct sweep_opts){.coll = coll_find("all_reduce"),
				   .min = 8,
				   .max = 8,
				   .factor = 2,
				   .iters = iters,
				   .warmup = warmup,
				   .aggregate = aggregate,
				   .cycles = 1,
				   .average = AVERAGE_MEAN,
				   .types = 1u << DT_FLOAT,
				   .ops = 1u << OP_SUM};
}

static void as_often_as_asked(void **state)
{
	struct sweep_opts o = of(5, 2, 3);

	(void)state;
	/* out of place and in place: one to see what it takes, the warm-up, the iterations */
	assert_int_equal(swept(&o).asked, 2 * (1 + 2 + 5 * 3));
	o.check = 4;
	assert_int_equal(swept(&o).asked, 2 * (1 + 2 + 5 * 3 + 4));
	o.cycles = 3;
	o.max = 32; /* 8, 16, 32 */
	assert_int_equal(swept(&o).asked, 3 * 3 * 2 * (1 + 2 + 5 * 3 + 4));
}

static void blocking_is_after_each_operation(void **state)
{
	static const struct {
		enum sweep_blocking how;
		unsigned under_way, barriers; /* barriers: in five iterations of three */
	} rows[] = {
		{BLOCK_NOT, 3, 0}, {BLOCK_BARRIER, 1, 15}, {BLOCK_WAIT, 1, 0}, {BLOCK_APART, 1, 5}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sweep_opts o = of(5, 0, 3);
		struct counts is;

		o.blocking = rows[i].how;
		is = swept(&o);
		assert_int_equal(is.asked, 2 * (1 + 5 * 3));
		assert_int_equal(is.most_under_way, rows[i].under_way);
		assert_int_equal(is.barriers, 2 * (1 + rows[i].barriers));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_often_as_asked),
		cmocka_unit_test(blocking_is_after_each_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
