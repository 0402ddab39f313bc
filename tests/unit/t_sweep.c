/* How often a sweep asks for what: -n, -w, -m, -c and -z, on a communicator that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/dev/dev.h"
#include "bench/ranks/relay.h"
#include "bench/sweep/row_event.h"
#include "lib/core/units.h"

#include <time.h>

enum { EACH_JUST = 1 << 19 };

static uint64_t per_mib_ns; /* what an operation takes of the wall clock */

static struct counts {
	unsigned asked, barriers; /* asked: of floats; doubles are what ranks agree on */
	unsigned under_way, most_under_way;
	size_t most_bytes; /* of floats */
} count;

static void pause_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

	(void)nanosleep(&t, NULL);
}

/* One rank: what it sends is what comes out. */
static int start(struct comm *c, const struct comm_request *q, struct err *e)
{
	(void)c;
	(void)e;
	count.barriers += q->kind == COLL_BARRIER;
	if (q->kind == COLL_BARRIER)
		return 0;
	if (q->type == DT_FLOAT && q->count * sizeof(float) > count.most_bytes)
		count.most_bytes = q->count * sizeof(float);
	if (q->send != q->recv)
		memcpy(q->recv, q->send, q->count * dtype_size(q->type));
	count.asked += q->type == DT_FLOAT;
	if (per_mib_ns && q->type == DT_FLOAT)
		pause_ns(per_mib_ns * (q->count * sizeof(float)) >> 20);
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

/* What came of one rank's sweep; what it asked for is counted anew. */
static struct sweep run(const struct sweep_opts *o,
			void (*row)(struct sweep *s, const struct sweep_row *r))
{
	struct comm c = {.impl = &counting, .size = 1};
	struct sweep s = {.o = o, .comm = &c, .dev = &dev_host, .row = row};
	struct err e = {0};

	count = (struct counts){0};
	assert_int_equal(sweep_run(&s, &e), 0);
	s.comm = NULL; /* it ends here */
	return s;
}

static struct counts swept(const struct sweep_opts *o)
{
	assert_int_equal(run(o, NULL).rows, sweep_count(o, 1));
	return count;
}

/* Less than @times as long as it may take. */
static struct sweep run_in_time(const struct sweep_opts *o, uint64_t ns_per_mib, unsigned times)
{
	uint64_t start = now_ns();
	struct sweep s;

	per_mib_ns = ns_per_mib;
	s = run(o, NULL);
	per_mib_ns = 0;
	assert_true(now_ns() - start < times * o->within_ns);
	return s;
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

/* What memory has room for may be less than the sizes of the latency are. */
static void no_size_is_larger_than_memory_allows(void **state)
{
	struct sweep_opts o = of(1, 0, 1);

	(void)state;
	o.adaptive = true;
	o.within_ns = UINT64_MAX / 2;
	o.max = 1 << 10;
	assert_int_equal(run(&o, NULL).rows, 2); /* 8 B, 1 KiB */
	assert_int_equal(count.most_bytes, 1 << 10);
}

/* 100 ms a MiB: all of it would take a minute. */
static void a_list_fits_into_its_time(void **state)
{
	struct sweep_opts o = of(20, 1, 1);
	struct sweep s;

	(void)state;
	o.max = 8 << 20;
	o.check = 1;
	o.types |= 1u << DT_DOUBLE; /* its turn comes, too: it takes no time here */
	o.within_ns = 2 * NS_PER_S;
	s = run_in_time(&o, NS_PER_S / 10, 3);
	assert_true(s.timed_out && s.fewer);
	assert_true(s.rows > sweep_sizes(&o) / 2 && s.rows < sweep_count(&o, 1));
	assert_true(count.most_bytes >= s.fewer && count.most_bytes < 8 << 20);
}

/* Where the smallest size has no room, a million lists of it have none, and are not begun. */
static void what_has_no_room_ends_all(void **state)
{
	struct sweep_opts o = of(20, 1, 1);
	struct sweep s;

	(void)state;
	o.cycles = 1000000;
	o.within_ns = 1;
	s = run(&o, NULL);
	assert_true(s.timed_out && !s.rows);
	assert_true(count.asked < 10);
}

/* 1 MiB would take most of the time: large sizes begin earlier. */
static void without_sizes_a_slow_network_keeps_the_time_too(void **state)
{
	struct sweep_opts o = of(20, 1, 1);
	struct sweep s;

	(void)state;
	o.adaptive = true;
	o.max = 64 << 20;
	o.within_ns = 3 * NS_PER_S;
	s = run_in_time(&o, NS_PER_S, 2);
	assert_int_equal(s.rows, 4); /* 8 B, 1 KiB, 32 KiB, 64 KiB */
	assert_int_equal(count.most_bytes, 64 << 10);
	assert_true(s.timed_out);
}

/* 2 ms a MiB, whatever the size; one rank has no bus bandwidth, as the first of groups may be. */
static void without_sizes_it_ends_where_nothing_is_gained(void **state)
{
	struct sweep_opts o = of(20, 1, 1);
	struct sweep s;

	(void)state;
	o.adaptive = true;
	o.max = 256 << 20;
	o.within_ns = 1000 * NS_PER_S;
	s = run_in_time(&o, 2 * NS_PER_MS, 1);
	assert_true(s.rows >= 6 && !s.timed_out); /* 8 B, 1 KiB, 32 KiB, 1, 2, 4 MiB */
	assert_true(count.most_bytes < 256 << 20);
}

/* The row that is told, as a line. */
static size_t length;
static bool has_each;

static void pack(struct sweep *s, const struct sweep_row *row)
{
	cJSON *event = row_event_pack(row, ROW_ALL_TIMES);
	char *text = cJSON_PrintUnformatted(event);

	(void)s;
	length = strlen(text);
	has_each = row->out.each != NULL;
	cJSON_free(text);
	cJSON_Delete(event);
}

static void told(uint64_t iters)
{
	struct sweep_opts o = of(iters, 0, 1);

	o.keep_each = true;
	assert_int_equal(run(&o, pack).rows, 1);
}

/* -J with -n as large as it may be. */
static void a_row_of_many_iterations_can_be_told(void **state)
{
	(void)state;
	told(1000);
	assert_true(has_each);
	told(EACH_JUST); /* of one rank: its own times, and those of all */
	assert_true(has_each && length < RELAY_LINE_MAX);
	told(1000000);
	assert_true(!has_each && length < RELAY_LINE_MAX);
}

static struct measurement measured;

static void take_row(struct sweep *s, const struct sweep_row *row)
{
	(void)s;
	measured = row->in;
}

/* What waits for a network takes no processor: its column says so, and no bandwidth grows by it. */
static void processor_time_is_only_shown(void **state)
{
	struct sweep_opts o = of(3, 0, 1);

	(void)state;
	o.min = o.max = 1 << 20;
	o.cpu_time = true;
	per_mib_ns = NS_PER_S / 100;
	(void)run(&o, take_row);
	per_mib_ns = 0;
	assert_true(measured.seconds >= 0.01 && measured.p50 >= 0.01);
	assert_true(measured.shown < 0.005);
	assert_true(measured.algbw <= (1 << 20) / 0.01 / 1e9);
	o.cpu_time = false;
	(void)run(&o, take_row);
	assert_true(measured.shown == measured.seconds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_often_as_asked),
		cmocka_unit_test(a_row_of_many_iterations_can_be_told),
		cmocka_unit_test(no_size_is_larger_than_memory_allows),
		cmocka_unit_test(a_list_fits_into_its_time),
		cmocka_unit_test(without_sizes_a_slow_network_keeps_the_time_too),
		cmocka_unit_test(without_sizes_it_ends_where_nothing_is_gained),
		cmocka_unit_test(what_has_no_room_ends_all),
		cmocka_unit_test(blocking_is_after_each_operation),
		cmocka_unit_test(processor_time_is_only_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
