/* Everybody gets the reduction of everybody's buffer. */
#include "bench/coll/coll.h"

/* Each byte goes out and comes in once per other rank's part, twice over. */
static double factor(int ranks) { return 2.0 * (ranks - 1) / ranks; }

static void expect(const struct coll_case *c, coll_piece *piece, void *arg)
{
	piece(arg, 0, c->sizes.recv, -1, 0);
}

const struct coll coll_all_reduce = {
	.name = "all_reduce",
	.kind = COLL_ALL_REDUCE,
	.reduces = true,
	.factor = factor,
	.sizes = coll_sizes_whole,
	.expect = expect,
};
