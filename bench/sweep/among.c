/* A sweep among several groups at once: each has its own collective, and all ranks still agree on
 * sizes, iterations and what a row says. */
#include "bench/sweep/sweep.h"
#include "lib/core/units.h"

#include <math.h>

/* So long a group may be waited for before all meet, and such a part of the deadline. */
static const double MEET_S = 1, MEET_PART = 0.25;

struct coll_case among_case(const struct sweep *s)
{
	struct coll_case c = {.coll = s->o->coll};

	if (among(s)) {
		c.rank = among(s)->rank;
		c.ranks = among(s)->size;
	} else {
		c.ranks = groups_lead_size(s->groups);
	}
	return c;
}

int among_roots(const struct sweep *s) { return s->groups ? s->groups->least : s->comm->size; }

uint64_t among_bytes(const struct sweep *s, const struct coll_case *c)
{
	return s->groups ? s->bytes : coll_bytes(c);
}

struct coll_case among_shown(const struct sweep *s, const struct coll_case *c)
{
	struct coll_case shown = *c;

	if (s->groups && c->ranks != groups_lead_size(s->groups)) {
		shown.ranks = groups_lead_size(s->groups);
		shown.sizes = coll_sizes(c->coll, (size_t)s->bytes, c->type, shown.ranks);
	}
	return shown;
}

int among_run(struct sweep *s, const struct comm_request *q, struct err *e)
{
	return among(s) ? comm_run(among(s), q, e) : 0;
}

int among_meet(struct sweep *s, const struct comm_request *q, struct err *e)
{
	return among_run(s, q, e) || (s->groups && comm_barrier(s->comm, e)) ? -1 : 0;
}

int among_warm(struct sweep *s, const struct comm_request *q, uint64_t times, uint64_t *ret,
	       struct err *e)
{
	double once_s = 0, most;

	*ret = UINT64_MAX;
	for (uint64_t i = 0; i < times; i++) {
		uint64_t start = now_ns();

		if (among_meet(s, q, e))
			return -1;
		once_s = (double)(now_ns() - start) / 1e9;
	}
	if (!s->groups)
		return 0;
	if (sweep_agree(s->comm, &once_s, 1, OP_MAX, e))
		return -1;
	most = fmin(MEET_S, MEET_PART * (double)s->deadline_ns / 1e9) /
	       fmax(once_s * (double)s->o->aggregate, 1e-9);
	*ret = most < 1 ? 1 : (uint64_t)most;
	return 0;
}

void among_weigh(const struct sweep *s, double *v, size_t n)
{
	int first = s->groups ? s->groups->v[s->groups->lead].ranks[0] : 0;
	double factor = 1;

	if (s->o->average == AVERAGE_RANK0)
		factor = s->comm->rank == first;
	else if (!among(s))
		factor = s->o->average == AVERAGE_MIN ? INFINITY : 0;
	else if (s->o->average == AVERAGE_MEAN && s->groups)
		factor = (double)s->groups->size / s->groups->members;
	for (size_t i = 0; i < n; i++)
		v[i] = factor == 1 ? v[i] : isfinite(factor) ? v[i] * factor : INFINITY;
}
