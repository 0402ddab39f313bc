/* Everybody gets the root's buffer. */
#include "bench/coll/coll.h"

static void expect(const struct coll_case *c, coll_piece *piece, void *arg)
{
	piece(arg, 0, c->sizes.recv, c->root, 0);
}

const struct coll coll_broadcast = {
	.name = "broadcast",
	.kind = COLL_BROADCAST,
	.rooted = true,
	.factor = coll_factor_one,
	.sizes = coll_sizes_whole,
	.expect = expect,
};
