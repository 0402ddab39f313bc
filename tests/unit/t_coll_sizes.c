/* What a size on the command line becomes, by collective: names, buffers, bandwidth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/coll/coll.h"
#include "bench/sweep/pace.h"
#include "tests/unit/in_range.h"

#include <unistd.h>

static void names_are_nccl_tests(void **state)
{
	(void)state;
	for (size_t i = 0; colls[i]; i++) {
		assert_string_equal(colls[i]->name, coll_names[i]);
		assert_string_equal(colls[i]->name, coll_kind_name(colls[i]->kind));
	}
	assert_string_equal(coll_find("all_reduce_perf")->name, "all_reduce");
	assert_string_equal(coll_find("reduce")->name, "reduce");
	assert_string_equal(coll_find("reduce_scatter_perf")->name, "reduce_scatter");
	assert_string_equal(coll_find("reduce_scatter_perf_mpi")->name, "reduce_scatter");
	assert_null(coll_find("reduce_perfx"));
	assert_null(coll_find("all_redu"));
}

static void sizes_and_bandwidth_are_nccl_tests(void **state)
{
	/* coll, bytes, ranks: count and size columns, busbw after one second in GB/s */
	static const struct {
		const char *coll;
		size_t bytes;
		int ranks;
		size_t count, size;
		double busbw;
	} rows[] = {
		{"all_reduce", 1000000000, 4, 250000000, 1000000000, 1.5},
		{"all_gather", 1 << 30, 4, 1 << 26, 1 << 30, 0.805306368},
		{"all_gather", 100, 3, 8, 96, 96e-9 * 2 / 3},
		{"reduce_scatter", 100, 3, 8, 96, 96e-9 * 2 / 3},
		{"alltoall", 60, 4, 0, 0, 0},
		{"alltoallv", 1 << 20, 2, 1 << 17, 1 << 20, 0.000655360}, /* 5/8 of it leaves */
		{"broadcast", 100, 3, 25, 100, 100e-9},
		{"reduce", 7, 3, 1, 4, 4e-9},
		{"gather", 1024, 2, 128, 1024, 512e-9},
		{"scatter", 1024, 2, 128, 1024, 512e-9},
		{"sendrecv", 1024, 2, 256, 1024, 1024e-9},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct coll_case c = {
			.coll = coll_find(rows[i].coll), .type = DT_FLOAT, .ranks = rows[i].ranks};
		double busbw;

		c.sizes = coll_sizes(c.coll, rows[i].bytes, c.type, c.ranks);
		busbw = coll_algbw(&c, 1) * c.coll->factor(c.ranks);
		assert_int_equal(c.sizes.count, rows[i].count);
		assert_int_equal(coll_bytes(&c), rows[i].size);
		assert_true(busbw - rows[i].busbw < 1e-12 && rows[i].busbw - busbw < 1e-12);
	}
}

static void uneven_parts_add_up(void **state)
{
	const struct coll *v = coll_find("alltoallv");

	(void)state;
	for (int ranks = 1; ranks <= 9; ranks++)
		for (size_t part = 0; part < 100; part += 7)
			for (int r = 0; r < ranks; r++) {
				size_t out = 0, in = 0;

				for (int p = 0; p < ranks; p++) {
					out += v->between(ranks, part, r, p);
					in += v->between(ranks, part, p, r);
				}
				assert_int_equal(out, part * (size_t)ranks);
				assert_int_equal(in, part * (size_t)ranks);
			}
	assert_true(v->between(2, 100, 0, 0) == 75 && v->between(2, 100, 0, 1) == 125);
	assert_true(v->between(3, 90, 1, 1) == 60 && v->between(3, 90, 1, 2) == 90 &&
		    v->between(3, 90, 1, 0) == 120);
}

static void sweeps_end(void **state)
{
	struct sweep_opts o = {.coll = coll_find("all_reduce"),
			       .min = 8,
			       .max = 1 << 30,
			       .factor = 2,
			       .cycles = 1,
			       .types = 1u << DT_FLOAT,
			       .ops = 1};

	(void)state;
	assert_int_equal(sweep_count(&o, 2), 28);
	o.max = UINT64_MAX;
	assert_int_equal(sweep_count(&o, 2), 61);
	o.min = 0;
	assert_int_equal(sweep_count(&o, 2), 65);
	o = (struct sweep_opts){.coll = coll_find("reduce"),
				.min = 5,
				.max = 10,
				.step = 2,
				.cycles = 3,
				.types = 3,
				.ops = 7,
				.root = -1};
	assert_int_equal(sweep_count(&o, 4), 3 * 3 * 2 * 3 * 4);
	o.min = o.max = UINT64_MAX;
	assert_int_equal(sweep_next_size(&o, o.min), 0);
}

/* -i 1, as some type who mean one iteration: while somebody counts, the others wait for him. */
static void billions_of_sizes_are_counted_at_once(void **state)
{
	const uint64_t n = (UINT64_C(1) << 42) - 7;
	struct sweep_opts o = {.coll = coll_find("all_reduce"),
			       .min = 8,
			       .max = UINT64_C(1) << 42,
			       .step = 1,
			       .cycles = 1,
			       .types = 1u << DT_FLOAT,
			       .ops = 1};
	struct pace p;

	(void)state;
	(void)alarm(60);
	assert_int_equal(sweep_sizes(&o), n);
	assert_int_equal(sweep_count(&o, 2), n);
	pace_begin(&p, &o, n);
	(void)alarm(0);
	assert_int_equal(pace_next(&p, 1), 0);
	assert_int_equal(pace_next(&p, 1000000000), 0); /* thousands of years */
	for (o.max = 8; o.max < 40; o.max++)
		for (o.step = 1; o.step < 9; o.step++) {
			uint64_t sizes = 1;

			for (uint64_t b = o.min; (b = sweep_next_size(&o, b));)
				sizes++;
			assert_int_equal(sweep_sizes(&o), sizes);
		}
}

/* Those that grow by steps, likewise: 64, 128, 192, 256 MiB. */
static void steps_are_foretold_too(void **state)
{
	const uint64_t mib = 1 << 20, second = 1000000000;
	struct sweep_opts o = {.min = 64 * mib, .max = 256 * mib, .step = 64 * mib, .cycles = 1};
	struct pace p;

	(void)state;
	pace_begin(&p, &o, 4);
	assert_int_equal(pace_next(&p, second), 0);
	assert_uint_in_range(pace_next(&p, 2 * second), 9 * second * 99 / 100,
			     9 * second * 101 / 100);
}

/* 1 GB/s and nothing else: what is foretold is what it takes. */
static void the_rest_is_foretold_by_bytes(void **state)
{
	const uint64_t mib = 1 << 20, second = 1000000000;
	struct sweep_opts o = {.min = 64 * mib, .max = 512 * mib, .factor = 2, .cycles = 1};
	uint64_t now = second;
	struct pace p;

	(void)state;
	pace_begin(&p, &o, 2 * 4); /* two types */
	assert_int_equal(pace_next(&p, now), 0);
	for (int row = 1; row < 8; row++) { /* 64, 128, 256, 512 and again: 1920 MiB in all */
		const uint64_t is_left[] = {0, 1856, 1728, 1472, 960, 896, 768, 512};
		uint64_t left = pace_next(&p, now += second << ((row - 1) % 4));

		assert_uint_in_range(left, is_left[row] * second / 64 * 99 / 100,
				     is_left[row] * second / 64 * 101 / 100);
	}
	pace_next(&p, now); /* more than there are */
	assert_int_equal(pace_next(&p, now + second), 0);
	pace_begin(&p, &o, 0);
	assert_int_equal(pace_next(&p, 1) + pace_next(&p, now), 0);
	o.adaptive = true;
	pace_begin(&p, &o, 8);
	assert_int_equal(pace_next(&p, 1) + pace_next(&p, now), 0);
}

static void what_is_to_come_is_shared_by_bytes(void **state)
{
	const uint64_t mib = 1 << 20;
	struct sweep_opts o = {.min = 64 * mib, .max = 256 * mib, .factor = 2, .cycles = 1};

	(void)state;
	assert_float_equal(pace_share(&o, 64 * mib, 0), 1 / 7.0, 0.001);
	assert_float_equal(pace_share(&o, 128 * mib, 0), 2 / 6.0, 0.001);
	assert_float_equal(pace_share(&o, 256 * mib, 0), 1, 0.001);
	assert_float_equal(pace_share(&o, 256 * mib, 2), 4 / (4 + 2 * 7.0), 0.001);
	o.factor = 0;
	o.step = 96 * mib; /* 64, 160, 256 */
	assert_float_equal(pace_share(&o, 64 * mib, 0), 64 / 480.0, 0.001);
	assert_float_equal(pace_share(&o, 160 * mib, 1), 160 / (416.0 + 480), 0.001);
	o.max = 300 * mib;
	assert_float_equal(pace_share(&o, 256 * mib, 0), 1, 0.001);
	o.max = o.min;
	o.step = 0;
	assert_float_equal(pace_share(&o, o.min, 0), 1, 0.001);
}

/* 20 iterations, in place and not, a first one, a warm-up and a check each: 46 operations. */
static void a_row_has_its_part_of_the_time(void **state)
{
	struct sweep_opts o = {.iters = 20, .warmup = 1, .aggregate = 1, .check = 1};

	(void)state;
	assert_int_equal(pace_iters(&o, 46.1, 1, 1), 20);
	assert_int_equal(pace_iters(&o, 1000, 1, 1), 20);
	assert_int_equal(pace_iters(&o, 26.1, 1, 1), 10);
	assert_int_equal(pace_iters(&o, 52.2, 0.5, 1), 10);
	assert_int_equal(pace_iters(&o, 12.1, 1, 1), 3);
	assert_int_equal(pace_iters(&o, 100, 0.05, 1), 3); /* more than its part: there is room */
	assert_int_equal(pace_iters(&o, 11.9, 1, 1), 0);
	assert_int_equal(pace_iters(&o, 0, 1, 1), 0);
	assert_int_equal(pace_iters(&o, 20, 0.0001, 0.004), 20); /* next to nothing */
	assert_int_equal(pace_iters(&o, 1, 1, 0), 20);
	o.aggregate = 4; /* 2 * (4 * 20 + 3) */
	assert_int_equal(pace_iters(&o, 166.1, 1, 1), 20);
	assert_int_equal(pace_iters(&o, 86.1, 1, 1), 10);
	o.skip = 5; /* of these nothing is shown: a few are left */
	assert_int_equal(pace_iters(&o, 70.1, 0.05, 1), 8);
	o = (struct sweep_opts){.iters = 1, .aggregate = 1};
	assert_int_equal(pace_iters(&o, 4.1, 1, 1), 1);
	assert_int_equal(pace_iters(&o, 3.9, 1, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_nccl_tests),
		cmocka_unit_test(sizes_and_bandwidth_are_nccl_tests),
		cmocka_unit_test(uneven_parts_add_up),
		cmocka_unit_test(sweeps_end),
		cmocka_unit_test(the_rest_is_foretold_by_bytes),
		cmocka_unit_test(billions_of_sizes_are_counted_at_once),
		cmocka_unit_test(steps_are_foretold_too),
		cmocka_unit_test(what_is_to_come_is_shared_by_bytes),
		cmocka_unit_test(a_row_has_its_part_of_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
