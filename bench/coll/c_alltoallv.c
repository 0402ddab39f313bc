/*
 * Everybody has a part for everybody, and no two of one rank's parts are alike: what
 * stays at home is about half the mean, what goes to the next rank a bit more, and
 * so on up to one and a half times the mean for the one before. All ranks send and
 * get the same in all, so that the size of a row and its bandwidth mean something.
 */
#include "bench/coll/coll.h"

static size_t between(int ranks, size_t part, int from, int to)
{
	long long n = ranks, k = (to - from + ranks) % ranks, mean = (long long)part;

	return (size_t)(mean + mean * (2 * k - (n - 1)) / (2 * n));
}

/* What does not stay at home. */
static double factor(int ranks)
{
	double n = ranks;

	return (n - 1) / n + (n - 1) / (2 * n * n);
}

static void sizes(int ranks, size_t part, struct coll_sizes *ret)
{
	size_t all = part * (size_t)ranks;

	*ret = (struct coll_sizes){.count = part, .send = all, .recv = all};
}

/* Where in its buffer @from has what is for @to. */
static size_t offset(const struct coll_case *c, int from, int to)
{
	size_t sum = 0;

	for (int p = 0; p < to; p++)
		sum += between(c->ranks, c->sizes.count, from, p);
	return sum;
}

static void expect(const struct coll_case *c, coll_piece *piece, void *arg)
{
	size_t at = 0;

	for (int p = 0; p < c->ranks; p++) {
		size_t n = between(c->ranks, c->sizes.count, p, c->rank);

		piece(arg, at, n, p, offset(c, p, c->rank));
		at += n;
	}
}

const struct coll coll_alltoallv = {
	.name = "alltoallv",
	.kind = COLL_ALLTOALLV,
	.exchanges = true,
	.is_of_parts = true,
	.factor = factor,
	.sizes = sizes,
	.between = between,
	.expect = expect,
};
