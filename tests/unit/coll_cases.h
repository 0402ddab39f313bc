#ifndef TESTS_UNIT_COLL_CASES_H
#define TESTS_UNIT_COLL_CASES_H
/*
 * Which cases of collectives are tried. A case is a row of numbers, one per parameter.
 *
 * `make check` covers them pairwise. A soak crosses them: with every size up to 3 MB
 * everything, but for what is nothing: a reduction where nothing is reduced, a root where
 * there is none, an in-place alltoallv (there is no such thing). These would be run again
 * and again under other names, and are almost four fifths of the plain product.
 *
 * Large sizes (16 MB, 64 MB, and odd) cost a hundred times as much, and what they can show
 * more is what buffers of sockets, 32-bit offsets and long plans spoil: bytes, wherever
 * they belong. What is done to the bytes of a block depends on its type and reduction alone
 * and was tried at every smaller size. So bytes move in the narrowest type, whose parts are
 * never aligned, a sum and an average (a sum and a division) are made in two types, and
 * the first and the last rank are root.
 */
#include "bench/coll/coll.h"

enum { BLOCK = 128 << 10, RANKS_MAX = 9, MB = 1 << 20 };

enum tier { SMALL, MEDIUM, LARGE, TIERS }; /* the quick ones first */
/* Around every change of algorithm, odd ones, and less than one per rank. */
static const struct {
	size_t bytes;
	enum tier tier;
} sizes[] = {
	{0, SMALL},
	{1, SMALL},
	{8, SMALL},
	{24, SMALL},
	{1000, SMALL},
	{8 << 10, SMALL},
	{(8 << 10) + 8, SMALL},
	{(32 << 10) - 40, SMALL},
	{40 << 10, SMALL},
	{(64 << 10) + 8, SMALL},
	{BLOCK, SMALL},
	{BLOCK * 2 + 24, SMALL},
	{BLOCK * 5 - 8, MEDIUM},
	{MB + 72, MEDIUM},
	{BLOCK * 9 + 1000, MEDIUM},
	{3 * MB + 136, MEDIUM},
	{16 * MB + 8, LARGE},
	{64 * MB + 7, LARGE},
};
/* Room for the largest of a tier, rounded up to whole parts and shifted. */
static const size_t tier_bytes[TIERS] = {MB, 4 * MB, 65 * MB};

enum { P_COLL, P_TYPE, P_OP, P_SIZE, P_PLACE, P_ROOT, P_SHIFT, PARAMETERS };
typedef unsigned coll_row[PARAMETERS];

static inline unsigned count_colls(void)
{
	unsigned n = 0;

	while (colls[n])
		n++;
	return n;
}

static inline unsigned count_sizes(enum tier to)
{
	unsigned n = 0;

	while (n < ARRAY_LEN(sizes) && sizes[n].tier <= to)
		n++;
	return n;
}

static inline unsigned values_of(int parameter, int ranks)
{
	const unsigned n[PARAMETERS] = {count_colls(),	 DT_COUNT, OP_COUNT, count_sizes(MEDIUM), 2,
					(unsigned)ranks, 2};

	return n[parameter];
}

/* --- a soak: everything that matters -------------------------------------------------- */

/* A row that is another one under a different name. */
static inline bool is_double(const coll_row r)
{
	const struct coll *c = colls[r[P_COLL]];

	return (!c->reduces && r[P_OP]) || (!c->rooted && r[P_ROOT]) || (c->between && r[P_PLACE]);
}

static inline bool matters_at_large(const coll_row r, int ranks)
{
	bool end = !r[P_ROOT] || r[P_ROOT] == (unsigned)ranks - 1;

	if (!end || r[P_SHIFT] != r[P_PLACE])
		return false;
	if (!colls[r[P_COLL]]->reduces)
		return r[P_TYPE] == DT_INT8;
	return (r[P_TYPE] == DT_FLOAT && r[P_OP] == OP_SUM) ||
	       (r[P_TYPE] == DT_BFLOAT16 && r[P_OP] == OP_AVG);
}

static inline bool matters(const coll_row r, int ranks)
{
	return !is_double(r) && (sizes[r[P_SIZE]].tier < LARGE || matters_at_large(r, ranks));
}

/* Calls @fn with each row of a tier until it returns false; one size after the other, of a
 * size all in one mixed order, so that each finds what a different one has left behind. */
static inline void each_row(enum tier tier, int ranks, bool (*fn)(void *arg, const coll_row r),
			    void *arg)
{
	enum { PRIME = 7919 }; /* divides no product of these */
	size_t all = 1;

	for (int i = 0; i < PARAMETERS; i++)
		all *= i == P_SIZE ? 1 : values_of(i, ranks);
	for (unsigned size = 0; size < ARRAY_LEN(sizes); size++)
		for (size_t k = 0; k < all && sizes[size].tier == tier; k++) {
			size_t rest = k * PRIME % all;
			coll_row r = {[P_SIZE] = size};

			for (int i = 0; i < PARAMETERS; i++)
				if (i != P_SIZE) {
					r[i] = (unsigned)(rest % values_of(i, ranks));
					rest /= values_of(i, ranks);
				}
			if (matters(r, ranks) && !fn(arg, r))
				return;
		}
}

/* --- a check: pairs --------------------------------------------------------------------- */

struct plan {
	coll_row *rows;
	size_t n;
};

enum { VALUES_MAX = 16, ROWS_MAX = 4000 };
typedef bool pair_set[PARAMETERS][PARAMETERS][VALUES_MAX][VALUES_MAX];

/* Whether a collective takes any notice of it: else a pair with it proves nothing. */
static inline bool heeds(const struct coll *c, int parameter)
{
	return parameter == P_OP      ? c->reduces
	       : parameter == P_ROOT  ? c->rooted
	       : parameter == P_PLACE ? !c->between
				      : true;
}

static inline unsigned new_pairs(pair_set seen, const coll_row row, bool mark)
{
	const struct coll *c = colls[row[P_COLL]];
	unsigned n = 0;

	for (int i = 0; i < PARAMETERS; i++)
		for (int j = i + 1; j < PARAMETERS && heeds(c, i); j++) {
			if (!heeds(c, j))
				continue;
			n += !seen[i][j][row[i]][row[j]];
			seen[i][j][row[i]][row[j]] |= mark;
		}
	return n;
}

static inline size_t count_pairs(int ranks)
{
	size_t n = 0;

	for (int j = 0; j < PARAMETERS; j++) {
		for (unsigned c = 0; j != P_COLL && c < count_colls(); c++)
			n += heeds(colls[c], j) ? values_of(j, ranks) : 0;
		for (int i = P_COLL + 1; i < j; i++)
			n += values_of(i, ranks) * values_of(j, ranks);
	}
	return n;
}

/* Of some random rows the one that covers most that is new. */
static inline void best_row(pair_set seen, int ranks, coll_row best)
{
	unsigned most = 0;

	for (int tries = 0; tries < 60 || !most; tries++) {
		coll_row row;
		unsigned n;

		for (int i = 0; i < PARAMETERS; i++)
			row[i] = (unsigned)random() % values_of(i, ranks);
		n = new_pairs(seen, row, false);
		if (n > most) {
			most = n;
			memcpy(best, row, sizeof(row));
		}
	}
}

/*
 * The large sizes would make a check slow: each meets every collective, type, reduction,
 * number of ranks and kind of root once, in 15 cases that all worlds share.
 */
static inline void add_large(struct plan *plan, int ranks)
{
	enum { CASES = 15 };
	unsigned ncolls = count_colls(), reduced = 0;

	for (unsigned size = count_sizes(MEDIUM); size < ARRAY_LEN(sizes); size++)
		for (unsigned k = 0, c = 0; k < CASES; k++, c++) {
			while (k >= ncolls && !colls[c % ncolls]->reduces)
				c++;
			reduced += colls[c % ncolls]->reduces;
			if (1 + k % RANKS_MAX != (unsigned)ranks)
				continue;
			memcpy(plan->rows[plan->n++],
			       (coll_row){c % ncolls, k % DT_COUNT, reduced % OP_COUNT, size, k % 2,
					  k / 2 % 2 ? (unsigned)ranks - 1 : 0, k / 3 % 2},
			       sizeof(coll_row));
		}
}

/* Random, but the same each time; rows are the caller's to free. */
static inline struct plan pairwise(int ranks)
{
	static pair_set seen;
	struct plan plan = {calloc(ROWS_MAX, sizeof(*plan.rows)), 0};
	size_t left = count_pairs(ranks);

	memset(seen, 0, sizeof(seen));
	srandom((unsigned)ranks);
	while (left && plan.n < ROWS_MAX - 100) {
		best_row(seen, ranks, plan.rows[plan.n]);
		left -= new_pairs(seen, plan.rows[plan.n++], true);
	}
	assert_int_equal(left, 0);
	return plan;
}

#endif
