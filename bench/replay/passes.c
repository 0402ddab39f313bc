/* All that was recorded in its order, each rank what it has part in, one after the other. */
#include "bench/replay/run.h"
#include "bench/sweep/tell.h"
#include "lib/core/stats.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

enum { PASSES_MAX = 20 };

/* Seconds that the busiest rank is to take, by its kinds. */
static double expected_s(struct replay *p)
{
	double *sum = arena_alloc(p->r->a, (size_t)p->t.ranks * sizeof(*sum)), most = 0;

	for (size_t i = 0; i < p->t.moves.n; i++) {
		const struct traffic_move *m = &p->t.moves.v[i];

		for (uint32_t k = 0; k < m->n; k++) {
			const struct traffic_group *g = &p->t.groups.v[m->groups[k]];

			for (uint32_t x = 0; x < g->n && !isnan(p->now_s[m->kind]); x++)
				sum[g->ranks[x]] += p->now_s[m->kind];
		}
	}
	for (int i = 0; i < p->t.ranks; i++)
		most = fmax(most, sum[i]);
	return most;
}

static int start_move(struct replay *p, const struct traffic_move *m, struct err *e)
{
	struct coll_case c = traffic_case(&p->t, &p->t.kinds.v[m->kind]);
	const struct coll_buffers b = {p->s.allocated[0], p->s.allocated[1], false};

	for (uint32_t i = 0; i < m->n && !isnan(p->now_s[m->kind]); i++) {
		struct comm *part = p->comms[m->groups[i]];
		struct comm_request q;

		if (!part)
			continue;
		c.rank = part->rank;
		q = coll_request(&c, &b);
		if (comm_start(part, &q, e))
			return -1;
	}
	return 0;
}

static int pass(struct replay *p, double *ret, struct err *e)
{
	uint64_t start;

	if (comm_barrier(p->r->comm, e))
		return -1;
	start = now_ns();
	for (size_t i = 0; i < p->t.moves.n; i++)
		if (start_move(p, &p->t.moves.v[i], e))
			return -1;
	for (size_t i = 0; i < p->parts.n; i++)
		if (comm_wait(p->parts.v[i], e))
			return -1;
	if (comm_wait(p->r->comm, e))
		return -1;
	*ret = (double)(now_ns() - start) / 1e9;
	return sweep_agree(p->r->comm, ret, 1, OP_MAX, e);
}

/* The first pass is to warm up, where there is time for another one. */
int run_in_order(struct replay *p, struct err *e)
{
	double took[PASSES_MAX], expected, left;
	size_t n, done = 0;
	cJSON *event;

	if (!p->t.moves.n || p->is_cut)
		return 0;
	if (run_share(p, p->end_ns, e))
		return -1;
	left = p->all[0].left_s;
	expected = expected_s(p);
	if (expected * 1.5 > left || !(expected > 0))
		return 0;
	n = (size_t)fmin(PASSES_MAX, left / expected / 1.5);
	for (size_t i = 0; i < n; i++) {
		if (!p->r->comm->rank)
			tell_next(p->r, "all of it in its order", (double)i, (double)n);
		if (pass(p, &took[done], e))
			return -1;
		done += i || n == 1;
	}
	event = relay_event("replayed");
	json_num(event, "in_order_s", median(took, done));
	json_num(event, "passes", (double)done);
	run_tell(p, event);
	return 0;
}
