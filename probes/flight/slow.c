/*
 * Who comes last. A collective that all ranks do together takes as long on a
 * GPU as that waits for the last: who comes last waits least. That is measured
 * by the GPUs themselves, so clocks that differ do not matter.
 */
#include "probes/flight/court.h"

#include "lib/core/stats.h"

enum { LEAST = 8 /* collectives */, TWICE = 2 };

struct tally {
	uint32_t *last; /* by the group's ranks */
	double *ms;
	uint32_t seen, uneven;
};

static bool meets(const char *op)
{
	return strstr(op, "all_") || strstr(op, "allreduce") || strstr(op, "reduce_scatter") ||
	       strstr(op, "barrier") || strstr(op, "alltoall");
}

/* One collective that all of the group completed. */
static void weigh(const struct court *c, struct tally *t, uint32_t group, uint32_t seq, float *ms)
{
	const struct flight_group *g = &c->f->groups.v[group];
	const double least_ms = 1;
	size_t first = 0;
	double usual, own;

	for (size_t i = 0; i < g->n; i++) {
		const struct flight_entry *e;

		if (view_presence(court_view(c, g->ranks[i]), group, seq, &e) != HERE ||
		    e->duration_ms < 0 || !meets(flight_said(c->f, e->op)))
			return;
		ms[i] = e->duration_ms;
		first = ms[i] < ms[first] ? i : first;
	}
	t->seen++;
	own = (double)ms[first];
	sort_floats(ms, g->n);
	usual = (double)ms[(g->n + 1) / 2 < g->n ? (g->n + 1) / 2 : g->n - 1];
	if (usual - own < least_ms || usual < own * TWICE)
		return;
	t->uneven++;
	t->last[first]++;
	t->ms[first] += usual - own;
}

static void tell(struct court *c, struct flight_verdict *v, uint32_t group, const struct tally *t,
		 size_t i)
{
	int rank = c->f->groups.v[group].ranks[i];
	struct flight_cause *f = tell_new(c, v, "FR-012", 48, &rank, 1);

	f->meaning =
		arena_printf(c->a,
			     "rank %d came last to %u of %u collectives of %s: the others waited "
			     "%.0f ms for it each time, on average",
			     rank, t->last[i], t->seen, say_group(c, group), t->ms[i] / t->last[i]);
	tell_line(c, &f->causes,
		  "its GPU is slower (hot, throttled, shared), or it has more to compute");
	tell_line(c, &f->causes, "its data loader, its processors or its disk are slower");
	tell_line(c, &f->confirm,
		  "nvidia-smi -q -d PERFORMANCE,CLOCK   # on the host of rank %d: throttled?",
		  rank);
	tell_line(c, &f->fix, "windsock --hosts ALL   # which host is slow without the program?");
}

static bool judge_group(struct court *c, struct flight_verdict *v, uint32_t group)
{
	const struct flight_group *g = &c->f->groups.v[group];
	const struct view *one = g->n ? court_view(c, g->ranks[0]) : NULL;
	const struct track *track = one ? view_track(one, group) : NULL;
	struct tally t = {0};
	float *ms;

	if (!track || g->n < 2)
		return false;
	t.last = arena_alloc(c->a, g->n * sizeof(*t.last));
	t.ms = arena_alloc(c->a, g->n * sizeof(*t.ms));
	ms = arena_alloc(c->a, g->n * sizeof(*ms));
	for (uint32_t i = track->lo; i < track->hi; i++)
		weigh(c, &t, group, view_entry(one, one->order[i])->seq, ms);
	for (size_t i = 0; i < g->n; i++)
		if (t.last[i] >= LEAST && t.last[i] * 10 >= t.uneven * 6 &&
		    t.last[i] * 10 >= t.seen * 3)
			return tell(c, v, group, &t, i), true;
	return false;
}

void judge_slow(struct court *c, struct flight_verdict *v)
{
	enum { MOST = 3 /* groups that say so */ };
	size_t told = 0;

	for (uint32_t g = 0; g < c->f->groups.n && told < MOST; g++)
		told += judge_group(c, v, g);
}
