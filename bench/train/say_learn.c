#include "bench/train/say_run.h"

#include "lib/core/quote.h"

#include <math.h>

enum { STEPS_TO_FALL = 10, STEPS_TO_LEARN = 50 };
#define STRAGGLER 1.5	 /* times the middle rank */
#define TIME_TO_TELL 0.1 /* seconds of computing; below, that is noise */

/* A large one goes back to the default. */
static double smaller_lr(const struct run *x) { return x->o->lr > 0.08 ? 0.02 : x->o->lr / 4; }

/* The same run but for one option: with another one it would be another question. */
static void fix_again(const struct run *x, struct finding *f, const char *option, const char *value)
{
	static const char *const bare[] = {"ddpsmoke", NULL};
	const char *const *argv = x->o->argv ? x->o->argv : bare;

	finding_fix(f, "%s", shell_again(report_arena(x->r), argv, option, value));
}

static void fix_lr(const struct run *x, struct finding *f)
{
	fix_again(x, f, "--lr", arena_printf(report_arena(x->r), "%g", smaller_lr(x)));
}

/* Of two limits the one that ended it. */
static void fix_longer(const struct run *x, struct finding *f)
{
	bool by_steps = x->o->max_steps && x->res->history.nsteps >= x->o->max_steps;
	uint64_t n = 2 * (by_steps ? x->o->max_steps : x->o->epochs);

	fix_again(x, f, by_steps ? "--steps" : "--epochs",
		  arena_printf(report_arena(x->r), "%zu", (size_t)n));
}

/* From one rank it spreads to the others with the next step, and not in the same. */
static bool are_all_bad(const struct run *x, uint64_t step)
{
	const struct train_word *w = x->res->history.last.words;
	int bad = 0;

	while (bad < x->w->size && w[bad].bad_step == step)
		bad++;
	return step && x->w->size > 1 && bad == x->w->size;
}

/* No gradient shows it: it came with the last step, or by an exchange. */
static void say_lost_params(const struct run *x, struct finding *f, int first, int n)
{
	size_t epoch = (size_t)x->res->history.nepochs;
	bool is_far = x->alone && !x->alone->is_lost && x->alone->is_far;

	if (n < x->w->size) {
		finding_set(f, ST_FAIL, "the parameters of %s hold NaN or infinity since epoch %zu",
			    say_who(x, first), epoch);
		say_fix_exchange(x, f, first);
		return;
	}
	finding_set(f, ST_FAIL, "%s parameters hold NaN or infinity since epoch %zu",
		    n == 1 ? "the" : "all ranks'", epoch);
	if (is_far)
		say_fix_exchange(x, f, -1);
	else
		fix_lr(x, f);
}

/* Before that step all gradients were finite numbers: the sum of these was not. */
static void say_hole(const struct run *x, struct finding *f, int rank)
{
	finding_set(f, ST_FAIL,
		    "%s got an average that is no finite number in step %zu, of gradients that all "
		    "were: what it got of the exchange was wrong",
		    say_who(x, rank), (size_t)x->res->history.last.words[rank].hole_step);
	say_fix_exchange(x, f, rank);
}

/* Steps that are too large end so, too, but the usual ones do not. */
static void say_bad(const struct run *x, struct finding *f, int rank)
{
	uint64_t step = x->res->history.last.words[rank].bad_step;
	bool all = are_all_bad(x, step);

	if (all)
		finding_set(f, ST_FAIL,
			    "all ranks had gradients that are no finite numbers in step %zu: the "
			    "steps before it were too large",
			    (size_t)step);
	else
		finding_set(f, ST_FAIL, "%s had a gradient that is no finite number in step %zu",
			    say_who(x, rank), (size_t)step);
	if (all || (x->o->is_hasty && step >= x->res->proven_steps))
		fix_lr(x, f);
	else
		say_fix_at(x, f, rank, "ddpsmoke --np 1");
}

/* Who is to blame; -1: nobody can be told from the others. */
static int who_is_not_finite(const struct run *x, int bad, int hole)
{
	int first, lost = say_lost_ranks(x, &first);

	if (hole >= 0)
		return hole;
	if (bad >= 0)
		return are_all_bad(x, x->res->history.last.words[bad].bad_step) ? -1 : bad;
	return lost < x->w->size ? first : -1;
}

void say_finite(const struct run *x)
{
	int bad = say_bad_rank(x), hole = say_hole_rank(x), first, lost = say_lost_ranks(x, &first);
	struct finding *f = say_find(x, "train.finite", who_is_not_finite(x, bad, hole));

	if (hole >= 0)
		say_hole(x, f, hole);
	else if (bad >= 0)
		say_bad(x, f, bad);
	else if (lost)
		say_lost_params(x, f, first, lost);
	else if (x->res->skipped_steps)
		finding_set(f, ST_PASS,
			    "no gradient was NaN or infinite but in %zu steps, which fp16's loss "
			    "scaling left out",
			    (size_t)x->res->skipped_steps);
	else
		finding_set(f, ST_PASS, "no gradient was NaN or infinite");
	finding_expect(f, "finite numbers");
	report_add(x->r, f);
}

/* Of a long run the steps that were kept speak for all. */
static double mean_loss(const struct history *h, size_t from, size_t n)
{
	double sum = 0;

	for (size_t i = from; i < from + n; i++)
		sum += h->steps.v[i].loss / (double)n;
	return sum;
}

void say_loss(const struct run *x)
{
	const struct history *h = &x->res->history;
	size_t n = h->steps.n, part = n / 4;
	struct finding *f = say_find(x, "train.loss", -1);
	double start, first, last, end;
	bool fell;
	int lost;

	if (n < STEPS_TO_FALL) {
		finding_set(f, ST_SKIP, "%zu step%s too few to see the loss fall", n,
			    n == 1 ? " is" : "s are");
		report_add(x->r, f);
		return;
	}
	if (say_bad_rank(x) >= 0 || say_lost_ranks(x, &lost)) { /* smaller steps would not help */
		finding_set(f, ST_SKIP, "not judged: it has what is no finite number in it");
		report_add(x->r, f);
		return;
	}
	start = h->steps.v[0].loss;
	first = mean_loss(h, 0, part);
	last = mean_loss(h, n - part, part);
	fell = last < first && last < start;
	end = h->last_step.loss; /* one of a few samples may lie above all others */
	if (fell)
		finding_set(f, ST_PASS, "fell from %.3f to %.4f", start, end < start ? end : last);
	else if (!isfinite(last))
		finding_set(f, ST_FAIL, "did not fall: from %.3f to what is no finite number",
			    start);
	else
		finding_set(f, ST_FAIL,
			    "did not fall: %.4f at first, %.4f on average of the first quarter of "
			    "the steps, %.4f of the last",
			    start, first, last);
	if (!fell)
		fix_lr(x, f);
	finding_expect(f, "lower in the last quarter of the steps than in the first, and than at "
			  "first");
	report_add(x->r, f);
}

void say_accuracy(const struct run *x)
{
	const struct train_epoch *last = &x->res->history.last;
	struct finding *f = say_find(x, "train.accuracy", -1);
	bool few = x->res->history.nsteps < STEPS_TO_LEARN && !x->o->is_expected;
	bool cut = x->res->history.nsteps < x->res->total_steps;
	enum status st = x->o->expect <= 0 || few	  ? ST_INFO
			 : last->val_top1 >= x->o->expect ? ST_PASS
			 : cut				  ? ST_INFO /* it had still to learn */
							  : ST_FAIL;

	finding_set(f, st,
		    "%.2f %% of %zu validation sample%s right, %.2f %% among the best five%s",
		    last->val_top1 * 100, x->o->data->n[DATA_VALIDATION],
		    x->o->data->n[DATA_VALIDATION] == 1 ? "" : "s", last->val_top5 * 100,
		    st == ST_INFO ? " (not judged)" : "");
	finding_value(f, last->val_top1 * 100, "%");
	if (st == ST_FAIL)
		fix_longer(x, f);
	if (st != ST_INFO)
		finding_expect(f, ">= %g %%", x->o->expect * 100);
	report_add(x->r, f);
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
