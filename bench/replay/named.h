#ifndef BENCH_REPLAY_NAMED_H
#define BENCH_REPLAY_NAMED_H
/* PyTorch's names of collectives and types, as ours. Pure. */
#include "bench/coll/coll.h"

struct named_op {
	const char *as;
	const struct coll *coll;
};
/* "_allgather_base", "all_reduce_barrier"; false: none that could be done again. Sends are the
 * caller's. */
bool named_op(const char *op, struct named_op *ret);
/* "BFloat16"; types without reductions of ours become bytes, @ret_each of them. */
bool named_type(const char *type, enum dtype *ret, size_t *ret_each);
/* Elements of a request, of those that go in and come out of one rank; @ret_uneven: they do not
 * part evenly among @ranks. */
size_t named_count(const struct named_op *op, size_t in, size_t out, size_t ranks,
		   bool *ret_uneven);

#endif
