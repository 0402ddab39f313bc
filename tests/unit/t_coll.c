/*
 * Every collective, type, reduction, size class, in and out of place, root and
 * number of sockets, covered pairwise on 1 to 9 ranks, against the patterns'
 * plain 64-bit arithmetic. WINDSOCK_SOAK=1 (or 2/8, see soak.h) crosses them all,
 * quick ones first; coll_cases.h says what "all" is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/sweep.h"
#include "tests/unit/coll_cases.h"
#include "tests/unit/dev_tables.h"
#include "tests/unit/ranks.h"
#include "tests/unit/soak.h"

/* Ranks on so many sockets to each (0: the communicator's own choice). */
struct world {
	int ranks;
	unsigned sockets;
};
static const struct world worlds[] = {
	{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0},
	{8, 0}, {9, 0}, {2, 1}, {2, 5}, {3, 3}, {4, 2},
};

struct buffers {
	char *send, *recv;
	struct dev *dev;
};

/* A size that is not rounded to whole parts: the communicator takes any count. */
static struct coll_sizes any_size(const struct coll *c, size_t bytes, enum dtype t, int ranks)
{
	size_t count = (bytes + dtype_size(t) - 1) / dtype_size(t);
	struct coll_sizes s;

	c->sizes(ranks, c->is_of_parts ? (count + (size_t)ranks - 1) / (size_t)ranks : count, &s);
	return s;
}

static struct coll_case case_of(const unsigned *row, int rank, int ranks)
{
	struct coll_case c = {.coll = colls[row[P_COLL]],
			      .type = row[P_TYPE],
			      .op = row[P_OP],
			      .root = (int)row[P_ROOT],
			      .rank = rank,
			      .ranks = ranks};

	c.sizes = any_size(c.coll, sizes[row[P_SIZE]].bytes, c.type, ranks);
	return c;
}

static const char *run_row(struct comm *comm, const unsigned *row, const struct buffers *mem,
			   uint64_t seed)
{
	struct coll_case c = case_of(row, comm->rank, comm->size);
	size_t shift = row[P_SHIFT] * dtype_size(c.type), bad, bytes = coll_bytes(&c);
	struct coll_buffers b = {
		.send = mem->send + shift, .recv = mem->recv + shift, .in_place = row[P_PLACE]};
	static char text[256];
	struct comm_request q;
	struct err e = {0};

	c.seed = seed;
	coll_fill(&c, &b, mem->dev);
	((char *)b.recv)[bytes] = ((char *)b.send)[bytes] = 0x77; /* a byte too many? */
	q = coll_request(&c, &b);
	if (comm_run(comm, &q, &e)) {
		(void)snprintf(text, sizeof(text), "%.200s", e.msg);
		return text;
	}
	bad = coll_wrong(&c, &b, mem->dev);
	if (!bad && ((char *)b.recv)[bytes] == 0x77 && ((char *)b.send)[bytes] == 0x77)
		return NULL;
	(void)snprintf(text, sizeof(text),
		       "%s %s %s, %zu bytes, root %d, %s place: %zu of %zu wrong", c.coll->name,
		       dtype_name(c.type), redop_name(c.op), bytes, c.root,
		       b.in_place ? "in" : "out of", bad, c.sizes.recv);
	return text;
}

static struct buffers buffers_new(enum tier tier, struct dev *d)
{
	return (struct buffers){aligned_alloc(64, tier_bytes[tier]),
				aligned_alloc(64, tier_bytes[tier]), d};
}

static void buffers_free(struct buffers *b)
{
	free(b->send);
	free(b->recv);
}

static const char *run_plan(struct comm *c, struct local *w, void *arg)
{
	AUTO(buffers_free) struct buffers mem = buffers_new(LARGE, &dev_host);
	const struct plan *plan = arg;
	const char *wrong = mem.send && mem.recv ? NULL : "no memory";

	(void)w;
	for (size_t i = 0; i < plan->n && !wrong; i++)
		wrong = run_row(c, plan->rows[i], &mem, i + 1);
	return wrong;
}

static void on_ranks(const struct world *w, rank_fn *fn, void *arg)
{
	struct ranks r = {.fn = fn, .arg = arg, .sockets = w->sockets};

	ranks_all_well(&r, w->ranks);
}

static void results_are_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		struct plan plan = pairwise(worlds[i].ranks);

		if (!worlds[i].sockets)
			add_large(&plan, worlds[i].ranks);
		on_ranks(&worlds[i], run_plan, &plan);
		free(plan.rows);
	}
}

/* --- a soak: all of them ----------------------------------------------------------------- */

static struct soak soak;

/* One world's rows of one tier. */
struct crossing {
	enum tier tier;
	struct comm *comm;
	struct buffers mem;
	uint64_t seen;
	int ranks;
	const char *wrong;
};

/* About proportional to the time it takes: what a case costs anyway, and its bytes. */
static double cost_of(const unsigned *row, int ranks)
{
	struct coll_case c = case_of(row, 0, ranks);

	return ranks * (65536.0 + (double)coll_bytes(&c));
}

static bool count_row(void *arg, const coll_row row)
{
	struct crossing *x = arg;

	if (soak_takes(&soak, x->seen++)) {
		soak.all_cases++;
		soak.all_cost += cost_of(row, x->ranks);
	}
	return true;
}

static bool cross_row(void *arg, const coll_row row)
{
	struct crossing *x = arg;
	uint64_t i = x->seen++;

	if (!soak_takes(&soak, i))
		return true;
	x->wrong = run_row(x->comm, row, &x->mem, i % TABLE_SEEDS);
	if (!x->comm->rank)
		soak_step(&soak, cost_of(row, x->ranks));
	return !x->wrong;
}

static const char *cross(struct comm *c, struct local *w, void *arg)
{
	struct crossing x = {.tier = *(enum tier *)arg, .comm = c, .ranks = c->size};

	(void)w;
	x.mem = buffers_new(x.tier, &dev_tables);
	if (!x.mem.send || !x.mem.recv)
		x.wrong = "no memory";
	else
		each_row(x.tier, c->size, cross_row, &x);
	buffers_free(&x.mem);
	return x.wrong;
}

static void cross_tier(enum tier tier)
{
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++)
		on_ranks(&worlds[i], cross, &tier);
	tables_forget();
}

static int plan_soak(void **state)
{
	(void)state;
	for (enum tier tier = 0; tier < TIERS; tier++)
		for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
			struct crossing x = {.ranks = worlds[i].ranks};

			each_row(tier, x.ranks, count_row, &x);
		}
	soak.start_ns = soak.said_ns = now_ns();
	soak_say(&soak, soak.start_ns);
	return 0;
}

static void every_small_size_with_everything(void **state)
{
	(void)state;
	cross_tier(SMALL);
}

static void every_medium_size_with_everything(void **state)
{
	(void)state;
	cross_tier(MEDIUM);
}

static void every_large_size_with_what_matters(void **state)
{
	(void)state;
	cross_tier(LARGE);
	assert_int_equal(soak.cases, soak.all_cases);
}

/* --- equal bits where rounding matters ------------------------------------------------ */

enum { FLOATS = 300007 };

static void store_float(void *to, size_t i, enum dtype t, float f)
{
	switch (t) {
	case DT_HALF:
		((uint16_t *)to)[i] = float_to_half(f);
		break;
	case DT_BFLOAT16:
		((uint16_t *)to)[i] = float_to_bf16(f);
		break;
	case DT_F8E4M3:
		((uint8_t *)to)[i] = float_to_f8e4m3(f);
		break;
	case DT_F8E5M2:
		((uint8_t *)to)[i] = float_to_f8e5m2(f);
		break;
	case DT_DOUBLE:
		((double *)to)[i] = (double)f / 3;
		break;
	default:
		((float *)to)[i] = f;
	}
}

/* Any bits at all; infinities, denormals and both zeros on purpose. No NaN. */
static void any_floats(void *to, enum dtype t, size_t n, int rank)
{
	static const float special[] = {0.0f, -0.0f, 1e-45f, 3e38f, -3e38f, 1.0f / 3};

	srandom((unsigned)rank + 100);
	for (size_t i = 0; i < n; i++)
		store_float(to, i, t,
			    random() % 4 ? (float)random() / (float)(random() + 1) - 1000
					 : special[(size_t)random() % ARRAY_LEN(special)]);
}

/* Whether what @q left in @recv has rank 0's bits. NaN (infinity - infinity), too. */
static const char *has_the_bits_of_rank_0(struct comm *c, const struct comm_request *q)
{
	static double first[FLOATS];
	size_t bytes = q->count * dtype_size(q->type);
	struct err e = {0};

	if (comm_run(c, q, &e))
		return "all_reduce failed";
	memcpy(first, q->recv, bytes);
	if (comm_run(c,
		     &(struct comm_request){.kind = COLL_BROADCAST,
					    .send = first,
					    .recv = first,
					    .count = q->count,
					    .type = q->type},
		     &e))
		return "broadcast failed";
	return memcmp(first, q->recv, bytes) ? "ranks got different bits" : NULL;
}

static const char *compare_ranks(struct comm *c, struct local *w, void *arg)
{
	static const size_t counts[] = {1, 2, 777, 3000, 20011, FLOATS};
	static double mine[FLOATS], sum[FLOATS];
	struct comm_request q = {.kind = COLL_ALL_REDUCE, .send = mine, .recv = sum};
	const char *wrong = NULL;

	(void)w;
	(void)arg;
	for (q.type = 0; q.type < DT_COUNT; q.type++) {
		if (!dtype_is_float(q.type))
			continue;
		any_floats(mine, q.type, FLOATS, c->rank);
		for (size_t i = 0; i < ARRAY_LEN(counts); i++)
			for (q.op = 0; q.op < OP_COUNT && !wrong; q.op++) {
				q.count = counts[i];
				wrong = has_the_bits_of_rank_0(c, &q);
			}
	}
	return wrong;
}

static void all_ranks_get_the_same_bits(void **state)
{
	(void)state;
	for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
		on_ranks(&(struct world){ranks, 0}, compare_ranks, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_right),
		cmocka_unit_test(all_ranks_get_the_same_bits),
	};
	const struct CMUnitTest crossings[] = {
		cmocka_unit_test(every_small_size_with_everything),
		cmocka_unit_test(every_medium_size_with_everything),
		cmocka_unit_test(every_large_size_with_what_matters),
	};
	int asked = soak_parse(getenv("WINDSOCK_SOAK"), &soak), failed;

	if (asked < 0) {
		(void)fprintf(stderr, "WINDSOCK_SOAK=1, or 2/8 for the second of eight shares\n");
		return 2;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (asked)
		failed += cmocka_run_group_tests(crossings, plan_soak, NULL);
	return failed;
}
