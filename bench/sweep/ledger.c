#include "bench/sweep/ledger.h"

#include "lib/core/units.h"
#include "lib/host/robbed.h"

#include <math.h>

/* Looking takes a moment, which short sweeps do not need. */
static double robbed(const struct sweep *s) { return s->o->for_ns ? robbed_s() : 0; }

struct ledger ledger_open(struct sweep *s)
{
	struct comm *c = among(s);
	struct comm_tally now;
	struct ledger w = {.counts = c && comm_tally(c, &now), .robbed = robbed(s)};

	w.started_ns = now_ns();
	if (!w.counts)
		return w;
	w.sent_bytes = now.sent_bytes;
	memcpy(s->waited_ns, now.waited_ns, (size_t)c->size * sizeof(*s->waited_ns));
	return w;
}

int ledger_close(struct sweep *s, const struct ledger *w, double seconds, struct measurement *m,
		 struct err *e)
{
	double *v = s->by_rank[s->buffers.in_place], took = (double)(now_ns() - w->started_ns);
	double most[2] = {-1, (robbed(s) - w->robbed) / took * 1e9};
	size_t n = (size_t)s->comm->size;
	struct comm_tally now;

	memset(v, 0, 2 * n * sizeof(*v));
	v[s->comm->rank] = seconds;
	if (w->counts && comm_tally(among(s), &now)) {
		for (size_t p = 0; p < n && n > 1 && !s->groups; p++)
			v[n + p] = (double)(now.waited_ns[p] - s->waited_ns[p]) / took /
				   (double)(n - 1);
		most[0] = (double)(now.sent_bytes - w->sent_bytes) / took;
	}
	if (sweep_agree(s->comm, v, 2 * n, OP_SUM, e) || sweep_agree(s->comm, most, 2, OP_MAX, e))
		return -1;
	m->rank_s = v;
	m->waited = w->counts && !s->groups ? v + n : NULL;
	m->wire = most[0] < 0 ? NAN : most[0];
	m->robbed = most[1];
	m->took = took / 1e9;
	return 0;
}
