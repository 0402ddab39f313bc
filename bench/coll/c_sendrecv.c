/* Everybody sends to the next rank and gets from the one before. */
#include "bench/coll/coll.h"

static void expect(const struct coll_case *c, coll_piece *piece, void *arg)
{
	piece(arg, 0, c->sizes.recv, (c->rank + c->ranks - 1) % c->ranks, 0);
}

const struct coll coll_sendrecv = {
	.name = "sendrecv",
	.kind = COLL_SENDRECV,
	.exchanges = true,
	.factor = coll_factor_one,
	.sizes = coll_sizes_whole,
	.expect = expect,
};
