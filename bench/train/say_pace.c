#include "bench/train/say_run.h"

#include "lib/core/stats.h"
#include "lib/core/units.h"
#include "lib/host/robbed.h"

#include <math.h>

#define STRAGGLER 1.5	 /* times the fastest quarter */
#define TIME_TO_TELL 0.1 /* seconds of computing; below, that is noise */
#define PAUSE 0.5	 /* seconds in one step; a busy processor may make one wait as long */

static double steady_of(const struct train_result *res, int rank)
{
	return say_total(res, rank).steady;
}

static double compute_of(const struct train_result *res, int rank)
{
	return say_total(res, rank).compute;
}

/* Of the fastest quarter the slowest: where a whole host is slow, most ranks may be. */
static double usual(const struct train_result *res, int ranks,
		    double (*of)(const struct train_result *res, int rank))
{
	AUTO_FREE double *all = ranks > 0 ? calloc((size_t)ranks, sizeof(*all)) : NULL;

	for (int i = 0; all && i < ranks; i++)
		all[i] = of(res, i);
	if (all)
		sort_doubles(all, (size_t)ranks);
	return all ? all[(ranks - 1) / 4] : 0;
}

struct pace {
	double steady, compute; /* usual ones */
};
static struct pace usual_pace(const struct train_result *res, int ranks)
{
	return (struct pace){usual(res, ranks, steady_of), usual(res, ranks, compute_of)};
}

/* Who was held up once is not slow; nor is who was not, beside others that were. */
static double times_usual(const struct train_result *res, const struct pace *p, int rank)
{
	if (!(p->steady > 0 && p->compute > 0))
		return 1;
	return fmin(steady_of(res, rank) / p->steady, compute_of(res, rank) / p->compute);
}

int say_slowest(const struct train_result *res, int ranks, double *ret_times)
{
	struct pace p = usual_pace(res, ranks);
	int slowest = 0;

	for (int i = 0; i < ranks; i++)
		slowest = times_usual(res, &p, i) > times_usual(res, &p, slowest) ? i : slowest;
	*ret_times = times_usual(res, &p, slowest);
	return slowest;
}

/* Less its part of the time in which others had the processor. */
static double fair_of(const struct train_result *res, int rank)
{
	struct say_total t = say_total(res, rank);

	return robbed_favour(t.steady, res->totals[rank].robbed_s * t.compute / t.wall);
}

static bool is_robbed(const struct run *x, int rank)
{
	return fair_of(x->res, rank) < STRAGGLER * usual(x->res, x->w->size, fair_of);
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
	double data = t->steady_data, rest = t->steady - data;
	double least_data = data, least_rest = rest;

	for (int i = 0; i < x->w->size; i++) {
		struct say_total own = say_total(x->res, i);

		least_data = fmin(least_data, own.steady_data);
		least_rest = fmin(least_rest, own.steady - own.steady_data);
	}
	return data - least_data > rest - least_rest;
}

/* How many are slow; *ret_host: they are all that this host has, and it is not the only one. */
static int count_slow(const struct run *x, int slowest, const char **ret_host)
{
	struct pace p = usual_pace(x->res, x->w->size);
	int n = 0, there = 0, slow_there = 0;

	for (int i = 0; i < x->w->size; i++) {
		bool is_slow = times_usual(x->res, &p, i) >= STRAGGLER;
		bool is_there = streq(x->w->peers[i].at, x->w->peers[slowest].at);

		n += is_slow;
		there += is_there;
		slow_there += is_slow && is_there;
	}
	*ret_host = n > 1 && n == slow_there && n == there && x->w->hosts > 1
			    ? x->w->peers[slowest].at
			    : NULL;
	return n;
}

static const char *who_is_slow(const struct run *x, int slowest, int n, const char *host)
{
	struct arena *a = report_arena(x->r);

	return host    ? arena_printf(a, "all %d ranks of %s are up to", n, host)
	       : n > 1 ? arena_printf(a, "%s and %d more are up to", say_who(x, slowest), n - 1)
		       : arena_printf(a, "%s is", say_who(x, slowest));
}

static struct finding *say_straggler(const struct run *x, int rank, double times)
{
	struct say_total t = say_total(x->res, rank);
	bool by_data = is_by_data(x, &t);
	const char *host;
	int n = count_slow(x, rank, &host);
	struct finding *f =
		host ? report_find(x->r, "train.pace", host) : say_find(x, "train.pace", rank);

	if (host && !streq(host, x->w->peers[0].at))
		f->host = host;
	finding_set(f, ST_WARN, "%s %.1fx slower than the others: %s, not network",
		    who_is_slow(x, rank, n, host), times, by_data ? "reading its data" : "compute");
	if (by_data)
		say_fix_at(x, f, rank, "vmstat 1 5   # wa: it waits for a disk or a file server");
	else if (say_gpu(x, rank) && !host) /* hot, or without power? */
		say_fix_at(x, f, rank, "nvidia-smi -i %s -q -d PERFORMANCE,TEMPERATURE",
			   say_gpu(x, rank));
	else if (say_gpu(x, rank))
		say_fix_at(x, f, rank, "nvidia-smi -q -d PERFORMANCE,TEMPERATURE");
	else
		say_fix_at(x, f, rank, "top -b -n 1");
	return f;
}

/* Who is slow only because of one step, which was not as long for all; -1: nobody. */
static int who_paused(const struct run *x)
{
	const struct train_total *t = x->res->totals;
	double compute = usual(x->res, x->w->size, compute_of), least = INFINITY;
	int who = 0;

	for (int i = 0; i < x->w->size; i++) {
		least = fmin(least, t[i].longest_s);
		who = t[i].longest_s > t[who].longest_s ? i : who;
	}
	return t[who].longest_s >= PAUSE && t[who].longest_s >= 2 * least &&
			       compute_of(x->res, who) >= STRAGGLER * compute
		       ? who
		       : -1;
}

/* What slows a processor down shows nothing of it afterwards. */
static struct finding *say_pause(const struct run *x, int rank)
{
	const struct train_total *t = &x->res->totals[rank];
	struct finding *f = say_find(x, "train.pace", rank);
	struct unit_buf time;

	finding_set(f, ST_WARN,
		    "%s stood still for %s in step %zu, and was as fast as the others otherwise",
		    say_who(x, rank), format_duration(&time, (uint64_t)(t->longest_s * 1e9)),
		    (size_t)t->longest_step);
	say_fix_at(x, f, rank,
		   "dmesg -T | tail   # a snapshot, swapping, a reset of its GPU, a job of cron?");
	return f;
}

static double rate_of_all(const struct run *x)
{
	double rate = 0;

	for (int i = 0; i < x->w->size; i++) {
		struct say_total own = say_total(x->res, i);

		rate += (double)own.samples / own.wall;
	}
	return rate;
}

/* --- the network ------------------------------------------------------------------ */

static double efficiency(const struct run *x, double rate)
{
	return rate / (x->alone->samples_per_s * x->w->size);
}

/* So long a step may wait for its exchange, also between healthy hosts: what 50 Mb/s carry twice,
 * and two milliseconds for each rank that it goes round by. */
static double may_wait_s(const struct run *x)
{
	const double bytes = (double)(x->res->nparams * sizeof(float));

	return 2 * bytes * 8 / 50e6 + 0.002 * x->w->size;
}

/* What even the rank that waits least spends on it in a step: who waits for a slow one waits more.
 */
static double wait_s(const struct run *x, double *ret_part)
{
	double least = INFINITY;

	*ret_part = 0;
	for (int i = 0; i < x->w->size; i++) {
		const struct train_total *t = &x->res->totals[i];
		double s = t->seconds[PHASE_EXCHANGE] / (double)t->steps;

		if (t->steps && s < least) {
			least = s;
			*ret_part = t->seconds[PHASE_EXCHANGE] / say_total(x->res, i).wall;
		}
	}
	return isfinite(least) ? least : 0;
}

/* An MPI waits busily: where more ranks have a machine's processors than there are (it may be
 * several hosts, which are containers), it waits for its own kind, not for a network. */
static bool may_spin(const struct run *x)
{
	const struct train_word *w = x->res->history.last.words;
	bool spins = false;

	for (int i = 0; i < x->w->size; i++) {
		int n = 0;

		for (int k = 0; k < x->w->size; k++)
			n += w[k].machine == w[i].machine &&
			     w[k].first_processor == w[i].first_processor;
		spins |= n > w[i].processors;
	}
	return spins && starts_with(x->w->backend, "mpi");
}

/* In a step the one whom others took the processor for longest: all the others waited for it. */
static double robbed_in_step(const struct run *x)
{
	double most = 0;

	for (int i = 0; i < x->w->size; i++) {
		const struct train_total *t = &x->res->totals[i];

		most = fmax(most, t->steps ? t->robbed_s / (double)t->steps : 0);
	}
	return most;
}

/* A small model waits most of its time, on a healthy network, too: so far it may. */
static bool crawls(const struct run *x, double rate)
{
	double part, wait = wait_s(x, &part);

	return x->w->hosts > 1 && x->alone && !may_spin(x) && part > 0.9 &&
	       efficiency(x, rate) < 0.05 && wait - robbed_in_step(x) > may_wait_s(x);
}

/* What the network costs all of them, also the one that waits least. */
static double network_s(const struct run *x)
{
	double part;

	return wait_s(x, &part) * (double)x->res->totals[0].steps;
}

/* @slow: who is slow besides, and costs less; -1: nobody. */
static struct finding *say_crawl(const struct run *x, double rate, int slow)
{
	struct finding *f = say_find(x, "train.pace", -1);
	struct unit_buf time, size;
	double part, wait = wait_s(x, &part);
	const struct lines l = say_lines(x);

	finding_set(f, ST_WARN,
		    "the network holds the training up: %s of each step go into the exchange of "
		    "%s of gradients, %.0f %% of the time; %.0f samples/s on %d ranks are %.1f %% "
		    "of what %d times one rank alone could do",
		    format_duration(&time, (uint64_t)(wait * 1e9)),
		    format_size(&size, x->res->nparams * sizeof(float)), part * 100, rate,
		    x->w->size, efficiency(x, rate) * 100, x->w->size);
	if (slow >= 0)
		finding_set(f, ST_WARN, "%s; besides, %s computes slower than the others",
			    f->message, say_who(x, slow));
	finding_fix(f, "%s --find-slow", lines_hosts(&l, "ncclbench"));
	return f;
}

/* --- all together ----------------------------------------------------------------- */

static struct finding *say_phases(const struct run *x, int rank, double rate)
{
	struct say_total t = say_total(x->res, rank);
	struct finding *f = say_find(x, "train.pace", -1);

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
			    f->message, efficiency(x, rate) * 100, x->w->size);
	return f;
}

/* Somebody has to wait then. */
static bool is_shared(const struct run *x, int rank)
{
	bool on_cpu = !x->o->engine || !x->o->engine->device;

	return on_cpu && beside(x, rank) > x->res->history.last.words[rank].processors;
}

/* Why one that is slow is not to blame; NULL: it is. */
static const char *excuse(const struct run *x, int rank)
{
	struct arena *a = report_arena(x->r);
	int processors = (int)x->res->history.last.words[rank].processors;
	struct unit_buf robbed, all;

	if (is_shared(x, rank))
		return arena_printf(a, "%d ranks share %d processor%s", beside(x, rank), processors,
				    processors == 1 ? "" : "s");
	if (is_robbed(x, rank))
		return arena_printf(
			a, "others had its processor for %s of %s",
			format_duration(&robbed, (uint64_t)(x->res->totals[rank].robbed_s * 1e9)),
			format_duration(&all, (uint64_t)(say_total(x->res, rank).wall * 1e9)));
	return NULL;
}

void say_pace(const struct run *x)
{
	double times, rate = rate_of_all(x), network = crawls(x, rate) ? network_s(x) : 0;
	int slowest = say_slowest(x->res, x->w->size, &times), paused = who_paused(x);
	double slow_s = steady_of(x->res, slowest) - usual(x->res, x->w->size, steady_of);
	bool is_slow = times >= STRAGGLER && steady_of(x->res, slowest) >= TIME_TO_TELL;
	const char *why = is_slow ? excuse(x, slowest) : NULL;
	struct finding *f;

	/* What costs all of them most. */
	if (is_slow && !why && slow_s >= network)
		f = say_straggler(x, slowest, times);
	else if (paused >= 0 && !is_shared(x, paused) &&
		 x->res->totals[paused].longest_s >= network)
		f = say_pause(x, paused);
	else if (network > 0)
		f = say_crawl(x, rate, is_slow && !why ? slowest : -1);
	else
		f = say_phases(x, slowest, rate);
	if (why && f->status == ST_INFO)
		finding_set(f, ST_INFO, "%s; %s is %.1fx slower than the others (not judged: %s)",
			    f->message, say_who(x, slowest), times, why);
	finding_value(f, rate, "samples/s");
	report_add(x->r, f);
}
