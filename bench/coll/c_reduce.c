/* The root gets the reduction of everybody's buffer. */
#include "bench/coll/coll.h"

static void expect(const struct coll_case *c, coll_piece *piece, void *arg)
{
	if (c->rank == c->root)
		piece(arg, 0, c->sizes.recv, -1, 0);
}

const struct coll coll_reduce = {
	.name = "reduce",
	.kind = COLL_REDUCE,
	.reduces = true,
	.rooted = true,
	.factor = coll_factor_one,
	.sizes = coll_sizes_whole,
	.expect = expect,
};
