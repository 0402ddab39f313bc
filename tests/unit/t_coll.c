/*
 * Every collective, type, reduction, size class, in and out of place, root and
 * number of sockets, covered pairwise on 1 to 9 ranks, against the patterns'
 * plain 64-bit arithmetic. WINDSOCK_SOAK=1 runs every combination.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/coll/coll.h"
#include "bench/sweep/sweep.h"
#include "tests/unit/ranks.h"

enum { BLOCK = 128 << 10, RANKS_MAX = 9, BYTES_MAX = (8 << 20) + 4096 };

/* Size classes: around every change of algorithm, odd ones, and less than one per rank. */
static const size_t sizes[] = {0,
			       1,
			       8,
			       24,
			       1000,
			       8 << 10,
			       (8 << 10) + 8,
			       (32 << 10) - 40,
			       40 << 10,
			       (64 << 10) + 8,
			       BLOCK,
			       BLOCK * 2 + 24,
			       BLOCK * 5 - 8,
			       (1 << 20) + 72,
			       BLOCK * 9 + 1000,
			       (3 << 20) + 136};

enum { P_COLL, P_TYPE, P_OP, P_SIZE, P_PLACE, P_ROOT, P_SHIFT, PARAMETERS };
static unsigned values_of(int parameter, int ranks)
{
	const unsigned n[PARAMETERS] = {0, DT_COUNT,	    OP_COUNT, ARRAY_LEN(sizes),
					2, (unsigned)ranks, 2};
	unsigned ncolls = 0;

	while (colls[ncolls])
		ncolls++;
	return parameter == P_COLL ? ncolls : n[parameter];
}

struct plan {
	unsigned (*rows)[PARAMETERS];
	size_t n;
};

struct buffers {
	char *send, *recv;
};

/* A size that is not rounded to whole parts: the communicator takes any count. */
static struct coll_sizes any_size(const struct coll *c, size_t bytes, enum dtype t, int ranks)
{
	size_t count = (bytes + dtype_size(t) - 1) / dtype_size(t);
	struct coll_sizes s;

	c->sizes(ranks, c->is_of_parts ? (count + (size_t)ranks - 1) / (size_t)ranks : count, &s);
	return s;
}

static const char *run_row(struct comm *comm, const unsigned *row, const struct buffers *mem,
			   uint64_t seed)
{
	struct coll_case c = {.coll = colls[row[P_COLL]],
			      .type = row[P_TYPE],
			      .op = row[P_OP],
			      .root = (int)row[P_ROOT],
			      .rank = comm->rank,
			      .ranks = comm->size,
			      .seed = seed};
	size_t shift = row[P_SHIFT] * dtype_size(c.type);
	struct coll_buffers b = {
		.send = mem->send + shift, .recv = mem->recv + shift, .in_place = row[P_PLACE]};
	static char text[256];
	struct comm_request q;
	struct err e = {0};
	size_t bad, bytes;

	c.sizes = any_size(c.coll, sizes[row[P_SIZE]], c.type, comm->size);
	bytes = coll_bytes(&c);
	coll_fill(&c, &b, &dev_host);
	((char *)b.recv)[bytes] = ((char *)b.send)[bytes] = 0x77; /* a byte too many? */
	q = coll_request(&c, &b);
	if (comm_run(comm, &q, &e)) {
		(void)snprintf(text, sizeof(text), "%.200s", e.msg);
		return text;
	}
	bad = coll_wrong(&c, &b, &dev_host);
	if (!bad && ((char *)b.recv)[bytes] == 0x77 && ((char *)b.send)[bytes] == 0x77)
		return NULL;
	(void)snprintf(text, sizeof(text),
		       "%s %s %s, %zu bytes, root %d, %s place: %zu of %zu wrong", c.coll->name,
		       dtype_name(c.type), redop_name(c.op), bytes, c.root,
		       b.in_place ? "in" : "out of", bad, c.sizes.recv);
	return text;
}

static const char *run_plan(struct comm *c, struct local *w, void *arg)
{
	const struct plan *plan = arg;
	struct buffers mem = {aligned_alloc(64, BYTES_MAX), aligned_alloc(64, BYTES_MAX)};
	const char *wrong = mem.send && mem.recv ? NULL : "no memory";

	(void)w;
	for (size_t i = 0; i < plan->n && !wrong; i++)
		wrong = run_row(c, plan->rows[i], &mem, i + 1);
	free(mem.send);
	free(mem.recv);
	return wrong;
}

/* --- pairwise ------------------------------------------------------------------------ */

enum { VALUES_MAX = 16 };
typedef bool pair_set[PARAMETERS][PARAMETERS][VALUES_MAX][VALUES_MAX];

static unsigned new_pairs(pair_set seen, const unsigned *row, bool mark)
{
	unsigned n = 0;

	for (int i = 0; i < PARAMETERS; i++)
		for (int j = i + 1; j < PARAMETERS; j++) {
			n += !seen[i][j][row[i]][row[j]];
			seen[i][j][row[i]][row[j]] |= mark;
		}
	return n;
}

static size_t count_pairs(int ranks)
{
	size_t n = 0;

	for (int i = 0; i < PARAMETERS; i++)
		for (int j = i + 1; j < PARAMETERS; j++)
			n += values_of(i, ranks) * values_of(j, ranks);
	return n;
}

/* Greedy: of some random rows the one that covers most that is new. */
static struct plan pairwise(int ranks)
{
	static pair_set seen;
	struct plan plan = {calloc(4000, sizeof(*plan.rows)), 0};
	size_t left = count_pairs(ranks);

	memset(seen, 0, sizeof(seen));
	srandom((unsigned)ranks);
	while (left && plan.n < 4000) {
		unsigned *best = plan.rows[plan.n], most = 0;

		for (int tries = 0; tries < 60 || !most; tries++) {
			unsigned row[PARAMETERS], n;

			for (int i = 0; i < PARAMETERS; i++)
				row[i] = (unsigned)random() % values_of(i, ranks);
			n = new_pairs(seen, row, false);
			if (n > most) {
				most = n;
				memcpy(best, row, sizeof(row));
			}
		}
		left -= new_pairs(seen, best, true);
		plan.n++;
	}
	assert_int_equal(left, 0);
	return plan;
}

static struct plan everything(int ranks)
{
	size_t all = 1, n = 0;
	struct plan plan;

	for (int i = 0; i < PARAMETERS; i++)
		all *= values_of(i, ranks);
	plan.rows = calloc(all, sizeof(*plan.rows));
	for (; n < all; n++)
		for (size_t i = 0, rest = n; i < PARAMETERS; rest /= values_of((int)i, ranks), i++)
			plan.rows[n][i] = (unsigned)(rest % values_of((int)i, ranks));
	plan.n = n;
	return plan;
}

static void covers(int ranks, unsigned sockets)
{
	struct plan plan = getenv("WINDSOCK_SOAK") ? everything(ranks) : pairwise(ranks);
	struct ranks r = {.fn = run_plan, .arg = &plan, .sockets = sockets};
	const char *wrong = ranks_run(&r, ranks);

	if (wrong)
		fail_msg("%d ranks: %s", ranks, wrong);
	for (int i = 1; i < ranks; i++)
		if (r.ended[i])
			fail_msg("rank %d of %d ended with %d", i, ranks, r.ended[i]);
	free(plan.rows);
}

static void results_are_right(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= RANKS_MAX; ranks++)
		covers(ranks, 0);
}

static void with_several_sockets_too(void **state)
{
	(void)state;
	covers(2, 1);
	covers(2, 5);
	covers(3, 3);
	covers(4, 2);
}

/* --- equal bits where rounding matters ------------------------------------------------ */

/* Any bits at all; infinities, denormals and both zeros on purpose. No NaN. */
static void any_floats(float *f, size_t n, int rank)
{
	static const float special[] = {0.0f, -0.0f, 1e-45f, 3e38f, -3e38f, 1.0f / 3};

	srandom((unsigned)rank + 100);
	for (size_t i = 0; i < n; i++)
		f[i] = random() % 4 ? (float)random() / (float)(random() + 1) - 1000
				    : special[(size_t)random() % ARRAY_LEN(special)];
}

static const char *compare_ranks(struct comm *c, struct local *w, void *arg)
{
	static const size_t counts[] = {1, 2, 777, 3000, 20011, 300007};
	static float mine[300007], sum[300007], first[300007];
	struct comm_request q = {.send = mine, .recv = sum, .type = DT_FLOAT};
	struct err e = {0};

	(void)w;
	(void)arg;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		for (q.op = 0; q.op < OP_COUNT; q.op++) {
			q.kind = COLL_ALL_REDUCE;
			q.count = counts[i];
			any_floats(mine, q.count, c->rank);
			if (comm_run(c, &q, &e))
				return "all_reduce failed";
			memcpy(first, sum, q.count * 4);
			if (comm_run(c,
				     &(struct comm_request){.kind = COLL_BROADCAST,
							    .send = first,
							    .recv = first,
							    .count = q.count,
							    .type = DT_FLOAT},
				     &e))
				return "broadcast failed";
			/* NaN (infinity - infinity) has to have equal bits, too */
			if (memcmp(first, sum, q.count * 4))
				return "ranks got different bits";
		}
	return NULL;
}

static void all_ranks_get_the_same_bits(void **state)
{
	(void)state;
	for (int ranks = 2; ranks <= 7; ranks++) {
		struct ranks r = {.fn = compare_ranks};

		assert_null(ranks_run(&r, ranks));
		for (int i = 1; i < ranks; i++)
			assert_int_equal(r.ended[i], 0);
	}
}

/* --- names, sizes, factors -------------------------------------------------------------- */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_right),
		cmocka_unit_test(with_several_sockets_too),
		cmocka_unit_test(all_ranks_get_the_same_bits),
		cmocka_unit_test(names_are_nccl_tests),
		cmocka_unit_test(sizes_and_bandwidth_are_nccl_tests),
		cmocka_unit_test(uneven_parts_add_up),
		cmocka_unit_test(sweeps_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
