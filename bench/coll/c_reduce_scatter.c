/* Everybody gets its own part of the reduction of everybody's buffer. */
#include "bench/coll/coll.h"

static void sizes(int ranks, size_t part, struct coll_sizes *ret)
{
	*ret = (struct coll_sizes){
		.count = part, .send = part * (size_t)ranks, .recv = part, .recv_step = part};
}

static void expect(const struct coll_case *c, coll_piece *piece, void *arg)
{
	piece(arg, 0, c->sizes.recv, -1, c->sizes.count * (size_t)c->rank);
}

const struct coll coll_reduce_scatter = {
	.name = "reduce_scatter",
	.kind = COLL_REDUCE_SCATTER,
	.reduces = true,
	.is_of_parts = true,
	.factor = coll_factor_parts,
	.sizes = sizes,
	.expect = expect,
};
