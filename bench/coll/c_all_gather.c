/* Everybody gets everybody's part, in rank order. */
#include "bench/coll/coll.h"

static void sizes(int ranks, size_t part, struct coll_sizes *ret)
{
	*ret = (struct coll_sizes){
		.count = part, .send = part, .recv = part * (size_t)ranks, .send_step = part};
}

static void expect(const struct coll_case *c, coll_piece *piece, void *arg)
{
	for (int p = 0; p < c->ranks; p++)
		piece(arg, (size_t)p * c->sizes.count, c->sizes.count, p, 0);
}

const struct coll coll_all_gather = {
	.name = "all_gather",
	.kind = COLL_ALL_GATHER,
	.is_of_parts = true,
	.factor = coll_factor_parts,
	.sizes = sizes,
	.expect = expect,
};
