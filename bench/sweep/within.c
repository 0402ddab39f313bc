#include "bench/sweep/within.h"

#include "bench/sweep/pace.h"
#include "lib/core/units.h"

#include <math.h>

/* What is known of an operation of so many bytes, the same on all ranks; bytes 0: nothing. */
struct known {
	uint64_t bytes;
	double once_s;
};

static int try_once(struct sweep *s, struct coll_case *c, uint64_t bytes, struct known *k,
		    struct err *e)
{
	k->bytes = bytes;
	return measure_roughly(s, c, bytes, &k->once_s, e);
}

/* What one of @bytes takes. Where what is known is much smaller, that is come up to; not any
 * further than there is time for. */
static int foresee(struct sweep *s, struct coll_case *c, uint64_t bytes, double left_s,
		   struct known *k, double *ret, struct err *e)
{
	enum { NEAR = 4, SMALL = 64 << 10, FEW = 8 /* operations */ };
	uint64_t small = bytes < SMALL ? bytes : SMALL;

	if (!k->bytes && try_once(s, c, small, k, e))
		return -1;
	while (bytes / NEAR > k->bytes && FEW * pace_scaled(k->once_s, k->bytes, bytes) < left_s)
		if (try_once(s, c, k->bytes * NEAR > small ? k->bytes * NEAR : small, k, e))
			return -1;
	*ret = pace_scaled(k->once_s, k->bytes, bytes);
	return 0;
}

double within_left(const struct sweep *s)
{
	return ((double)s->o->within_ns - (double)(now_ns() - s->started_ns)) / 1e9;
}

/* Of the row before; and how much time there is still: on the rank that has least. */
static int recall(struct sweep *s, struct coll_case *c, const struct sweep_row *before,
		  struct known *ret, double *ret_left, struct err *e)
{
	const struct measurement *m = &before->in;
	double known[2] = {-within_left(s), 0};

	if (before->c)
		known[1] = m->took / (double)(m->ntimes * s->o->aggregate);
	if (sweep_agree(s->comm, known, 2, OP_MAX, e))
		return -1;
	*ret_left = fmax(0, -known[0]);
	*ret = (struct known){before->c ? among_bytes(s, c) : 0, known[1]};
	return 0;
}

int within_iters(struct sweep *s, struct coll_case *c, uint64_t bytes,
		 const struct sweep_row *before, uint64_t *ret, struct err *e)
{
	const struct sweep_opts *o = s->o;
	uint64_t lists = sweep_count(o, among_roots(s)) / sweep_sizes(o) - s->lists;
	struct known known;
	double left, once;

	*ret = o->iters;
	if (!o->within_ns)
		return 0;
	if (recall(s, c, before, &known, &left, e) || foresee(s, c, bytes, left, &known, &once, e))
		return -1;
	*ret = pace_iters(o, left, pace_share(o, bytes, lists), once);
	s->timed_out |= !*ret;
	if (*ret && *ret < o->iters && !s->fewer)
		s->fewer = bytes;
	return 0;
}
