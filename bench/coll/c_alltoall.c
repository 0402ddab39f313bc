/* Everybody has a part for everybody. */
#include "bench/coll/coll.h"

static void sizes(int ranks, size_t part, struct coll_sizes *ret)
{
	size_t all = part * (size_t)ranks;

	*ret = (struct coll_sizes){.count = part, .send = all, .recv = all};
}

static void expect(const struct coll_case *c, coll_piece *piece, void *arg)
{
	size_t n = c->sizes.count;

	for (int p = 0; p < c->ranks; p++)
		piece(arg, (size_t)p * n, n, p, (size_t)c->rank * n);
}

const struct coll coll_alltoall = {
	.name = "alltoall",
	.kind = COLL_ALLTOALL,
	.exchanges = true,
	.is_of_parts = true,
	.factor = coll_factor_parts,
	.sizes = sizes,
	.expect = expect,
};
