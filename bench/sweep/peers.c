/* What was measured between many, as a saved table of one point. */
#include "bench/sweep/peers.h"

#include <math.h>

void peers_add(const struct peers *p, struct arena *a, saved_list *ret)
{
	struct saved *s = saved_begin(ret, a);
	double best = NAN;

	s->peers = ARENA_NEW(a, struct peers);
	*(struct peers *)s->peers = *p;
	s->coll = p->test;
	for (int i = 0; i < p->rows * p->cols; i++)
		best = fmax(best, p->gbps[i]);
	if (best >= 0)
		saved_point(s, a, p->bytes, best, 0, 0);
}
