#include "bench/train/say_run.h"

#include <math.h>

#define STRAGGLER 1.5	 /* times the middle rank */
#define TIME_TO_TELL 0.1 /* seconds of computing; below, that is noise */

int say_slowest(const struct train_result *res, int ranks, double *ret_times)
{
	double most = 0, middle = 0;
	int slowest = 0;

	for (int i = 0; i < ranks; i++) {
		double own = say_total(res, i).compute;
		int below = 0, equal = 0;

		for (int k = 0; k < ranks; k++) {
			below += say_total(res, k).compute < own;
			equal += say_total(res, k).compute == own;
		}
		/* the lower one of two, so that of two ranks one can be slow */
		if (below <= (ranks - 1) / 2 && (ranks - 1) / 2 < below + equal)
			middle = own;
		if (own > most) {
			most = own;
			slowest = i;
		}
	}
	*ret_times = middle > 0 ? most / middle : 1;
	return slowest;
}

/* How many have that one's processors: of those that a launcher bound to others it is not slowed.
 */
static int beside(const struct run *x, int rank)
{
	const struct train_word *w = x->res->history.last.words;
	int n = 0;

	for (int i = 0; i < x->w->size; i++)
		n += streq(x->w->peers[i].at, x->w->peers[rank].at) &&
		     w[i].first_processor == w[rank].first_processor;
	return n;
}

/* Is it the data that takes it longer than anybody else, or the computing? */
static bool is_by_data(const struct run *x, const struct say_total *t)
{
	double data = t->seconds[PHASE_DATA], rest = t->compute - data;
	double least_data = data, least_rest = rest;

	for (int i = 0; i < x->w->size; i++) {
		struct say_total own = say_total(x->res, i);

		least_data = fmin(least_data, own.seconds[PHASE_DATA]);
		least_rest = fmin(least_rest, own.compute - own.seconds[PHASE_DATA]);
	}
	return data - least_data > rest - least_rest;
}

static void say_straggler(const struct run *x, struct finding *f, int rank, double times)
{
	struct say_total t = say_total(x->res, rank);
	bool by_data = is_by_data(x, &t);

	finding_set(f, ST_WARN, "%s is %.1fx slower than the others: %s, not network",
		    say_who(x, rank), times, by_data ? "reading its data" : "compute");
	if (by_data)
		say_fix_at(x, f, rank, "vmstat 1 5   # wa: it waits for a disk or a file server");
	else if (say_gpu(x, rank)) /* hot, or without power? */
		say_fix_at(x, f, rank, "nvidia-smi -i %s -q -d PERFORMANCE,TEMPERATURE",
			   say_gpu(x, rank));
	else
		say_fix_at(x, f, rank, "top -b -n 1");
}

static void say_phases(const struct run *x, struct finding *f, int rank, double rate)
{
	struct say_total t = say_total(x->res, rank);

	finding_set(f, ST_INFO,
		    "%.0f samples/s on %d rank%s; forward %.0f %%, backward %.0f %%, exchange "
		    "not hidden by it %.0f %%, data %.0f %%, update %.0f %%",
		    rate, x->w->size, x->w->size == 1 ? "" : "s",
		    t.seconds[PHASE_FORWARD] / t.wall * 100,
		    t.seconds[PHASE_BACKWARD] / t.wall * 100,
		    t.seconds[PHASE_EXCHANGE] / t.wall * 100, t.seconds[PHASE_DATA] / t.wall * 100,
		    t.seconds[PHASE_UPDATE] / t.wall * 100);
	if (x->alone && x->w->size > 1)
		finding_set(f, ST_INFO, "%s; %.0f %% of what %d times one rank alone could do",
			    f->message, rate / (x->alone->samples_per_s * x->w->size) * 100,
			    x->w->size);
}

void say_pace(const struct run *x)
{
	double times, rate = 0;
	int slowest = say_slowest(x->res, x->w->size, &times);
	const struct train_word *w = &x->res->history.last.words[slowest];
	bool is_slow = times >= STRAGGLER && say_total(x->res, slowest).compute >= TIME_TO_TELL;
	bool on_cpu = !x->o->engine || !x->o->engine->device;
	bool is_shared = on_cpu && beside(x, slowest) > w->processors; /* somebody has to wait */
	struct finding *f = say_find(x, "train.pace", is_slow && !is_shared ? slowest : -1);

	for (int i = 0; i < x->w->size; i++) {
		struct say_total own = say_total(x->res, i);

		rate += (double)own.samples / own.wall;
	}
	if (is_slow && !is_shared)
		say_straggler(x, f, slowest, times);
	else
		say_phases(x, f, slowest, rate);
	if (is_slow && is_shared)
		finding_set(f, ST_INFO,
			    "%s; %s is %.1fx slower than the others (not judged: %d ranks share %d "
			    "processor%s)",
			    f->message, say_who(x, slowest), times, beside(x, slowest),
			    (int)w->processors, w->processors == 1 ? "" : "s");
	finding_value(f, rate, "samples/s");
	report_add(x->r, f);
}
