/* --for, a burn-in, and --within, beside the other ways to say how long a run is. */
#include "bench/sweep/asked.h"
#include "lib/core/units.h"

static int ask_within(const struct asked *q, struct err *e)
{
	if (q->job.rank.sweep.for_ns)
		return err_set(e, ERR_USAGE,
			       "--for goes on until its time is over, --within ends as soon as all "
			       "is measured: leave one of them out");
	if (!q->cycles)
		return err_set(e, ERR_USAGE,
			       "-N 0 goes on until it is stopped, --within says how "
			       "long: leave one of them out");
	return 0;
}

int ask_for(const struct asked *q, struct err *e)
{
	uint64_t time = q->job.rank.sweep.for_ns;
	struct unit_buf b, t;

	if (q->job.rank.sweep.within_ns && ask_within(q, e))
		return -1;
	if (!time)
		return 0;
	if (q->cycles != ASK_NOT_GIVEN)
		return err_set(e, ERR_USAGE,
			       "--for says how long, and -N how often: leave one of them out");
	if (!q->budget_ns || q->budget_ns > time)
		return 0;
	return err_set(e, ERR_USAGE,
		       "--budget %s would cut --for %s off: leave it out, --for ends by itself "
		       "(and --deadline notices what hangs)",
		       format_duration(&b, q->budget_ns), format_duration(&t, time));
}

/* One small size and few large ones, whose row takes half a minute at 1 Gb/s. */
void ask_for_sizes(const struct ask_sizes *in, struct sweep_opts *s)
{
	s->adaptive = false;
	s->min = 2 << 10;
	s->max = 64 << 20;
	s->factor = in->factor == ASK_NOT_GIVEN ? 32 : in->factor;
}
