#include "bench/train/say_run.h"

#include <math.h>

/* As worth() counts them: with 64, and as many samples, none of hundreds of seeds learns less than
 * is expected. Of 32 steps one in twenty does, and of 32 samples most. */
enum { STEPS_TO_FALL = 10, STEPS_TO_LEARN = 64, SAMPLES_TO_LEARN = 128 };
#define ROUNDING 1e-6 /* of a sum of steps */
enum { VALUES_TO_NORM = 4, GRAPH_SHRINKS = 32 /* resnet18's image, up to its last stage */ };
#define DROPPED 0.01 /* so much of the first learning rate learns nothing more */

static void fix_again(const struct run *x, struct finding *f, const char *option, const char *value)
{
	const struct lines l = say_lines(x);

	finding_fix(f, "%s", lines_again(&l, option, value));
}

/* Back to what is done unasked, one option at a time, what makes the steps too large first. */
static void fix_sgd(const struct run *x, struct finding *f)
{
	const struct train_opts *o = x->o;
	double lr = o->usual_lr;

	if (o->lr <= lr && o->decay > TRAIN_DECAY)
		return fix_again(x, f, "--weight-decay", "0.0001");
	if (o->lr <= lr && o->momentum > TRAIN_MOMENTUM)
		return fix_again(x, f, "--momentum", "0.9");
	if (o->lr >= lr && o->lr <= lr)
		lr /= 4;
	fix_again(x, f, "--lr", arena_printf(report_arena(x->r), "%g", lr));
}

/* Of two limits the one that ended it; and where the learning rate ended it before, that. */
static void fix_longer(const struct run *x, struct finding *f)
{
	const struct history *h = &x->res->history;
	bool by_steps = x->o->max_steps && h->nsteps >= x->o->max_steps;
	bool is_over = h->last_step.lr < x->o->lr * DROPPED;
	uint64_t n = is_over ? h->nepochs : 2 * (by_steps ? x->o->max_steps : train_epochs(x->o));

	fix_again(x, f,
		  is_over    ? "--lr-every"
		  : by_steps ? "--steps"
			     : "--epochs",
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
		say_fix_exchange(x, f);
		return;
	}
	finding_set(f, ST_FAIL, "%s parameters hold NaN or infinity since epoch %zu",
		    n == 1 ? "the" : "all ranks'", epoch);
	if (is_far)
		say_fix_exchange(x, f);
	else
		fix_sgd(x, f);
}

/* Before that step all gradients were finite numbers: the sum of these was not. */
static void say_hole(const struct run *x, struct finding *f, int rank)
{
	finding_set(f, ST_FAIL,
		    "%s got an average that is no finite number in step %zu, of gradients that all "
		    "were: what it got of the exchange was wrong",
		    say_who(x, rank), (size_t)x->res->history.last.words[rank].hole_step);
	say_fix_exchange(x, f);
}

/* One process that did the same steps came to that as well; of one rank only, whose steps are
 * larger than usual, that is more likely than a broken processor. */
static bool is_by_steps(const struct run *x, uint64_t step)
{
	bool is_hasty = x->o->lr > x->o->usual_lr;

	return are_all_bad(x, step) || (step && x->alone && x->alone->ran_away) ||
	       (step && x->w->size == 1 && is_hasty);
}

/* Steps that are too large end so, too, but the usual ones do not. */
static void say_bad(const struct run *x, struct finding *f, int rank)
{
	size_t step = (size_t)x->res->history.last.words[rank].bad_step;
	const char *why = "the steps before it were too large";
	const struct lines l = say_lines(x);

	if (are_all_bad(x, step))
		finding_set(f, ST_FAIL,
			    "all ranks had gradients that are no finite numbers in step %zu: %s",
			    step, why);
	else if (is_by_steps(x, step))
		finding_set(f, ST_FAIL, "a gradient is no finite number in step %zu%s: %s", step,
			    x->w->size > 1 ? ", also where one process does all steps" : "", why);
	else
		finding_set(f, ST_FAIL, "%s had a gradient that is no finite number in step %zu",
			    say_who(x, rank), step);
	if (is_by_steps(x, step) || (x->o->lr > x->o->usual_lr && step >= x->res->proven_steps))
		fix_sgd(x, f);
	else
		finding_fix(f, "%s", lines_alone(&l, rank, ""));
}

/* Who is to blame; -1: nobody can be told from the others. */
static int who_is_not_finite(const struct run *x, int bad, int hole)
{
	int first, lost = say_lost_ranks(x, &first);

	if (hole >= 0)
		return hole;
	if (bad >= 0)
		return is_by_steps(x, x->res->history.last.words[bad].bad_step) ? -1 : bad;
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

/* How many whole steps of ours its own are worth; without our momentum they begin as slowly as half
 * as many. */
static double worth(const struct run *x)
{
	const struct history *h = &x->res->history;
	double sum = 0;

	for (size_t i = 0; i < h->steps.n; i++)
		sum += fmin(h->steps.v[i].lr, x->o->usual_lr) / x->o->full_lr;
	return sum * (double)h->steps_every * (x->o->momentum < TRAIN_MOMENTUM ? 0.5 : 1);
}

/* Of a channel a normalization sees no more values than that, where the image is smallest. */
static int fewest_values(const struct run *x)
{
	const struct model *m = x->o->model;
	int side = (m->side + GRAPH_SHRINKS - 1) / GRAPH_SHRINKS;

	return side * side * x->o->batch;
}

/* Of four one rank's loss rose with every second seed, and that of two with none. */
static bool sees_too_little(const struct run *x)
{
	int values = fewest_values(x);

	return values < VALUES_TO_NORM || (values == VALUES_TO_NORM && x->w->size == 1);
}

/* Why nobody can tell whether it fell; NULL: one can. */
static const char *why_unjudged(const struct run *x)
{
	size_t n = (size_t)x->res->history.nsteps;
	int lost;

	if (n < STEPS_TO_FALL)
		return arena_printf(report_arena(x->r), "%zu step%s too few to see the loss fall",
				    n, n == 1 ? " is" : "s are");
	if (x->o->model->graph && sees_too_little(x))
		return arena_printf(report_arena(x->r),
				    "not judged: with --side %d and --batch %d the last batch "
				    "norms see %d value%s each, of which %s learns",
				    x->o->model->side, x->o->batch, fewest_values(x),
				    fewest_values(x) == 1 ? "" : "s",
				    fewest_values(x) < VALUES_TO_NORM ? "nobody"
								      : "one rank alone hardly");
	if (say_bad_rank(x) >= 0 || say_lost_ranks(x, &lost)) /* smaller steps would not help */
		return "not judged: it has what is no finite number in it";
	return NULL;
}

static void say_not_fallen(const struct run *x, struct finding *f, double start, double first,
			   double last)
{
	if (!isfinite(last))
		finding_set(f, ST_FAIL, "did not fall: from %.3f to what is no finite number",
			    start);
	else if (worth(x) < STEPS_TO_FALL - ROUNDING) /* 40 of 2 samples each: by chance it rises */
		return finding_set(f, ST_SKIP,
				   "%zu steps as small as these are too few to see the loss fall",
				   (size_t)x->res->history.nsteps);
	else
		finding_set(f, ST_FAIL,
			    "did not fall: %.4f at first, %.4f on average of the first quarter of "
			    "the steps, %.4f of the last",
			    start, first, last);
	fix_sgd(x, f);
}

void say_loss(const struct run *x)
{
	const struct history *h = &x->res->history;
	size_t n = h->steps.n, part = n / 4;
	struct finding *f = say_find(x, "train.loss", -1);
	const char *unjudged = why_unjudged(x);
	double start, first, last, end;

	if (unjudged) {
		finding_set(f, ST_SKIP, "%s", unjudged);
		report_add(x->r, f);
		return;
	}
	start = h->steps.v[0].loss;
	first = mean_loss(h, 0, part);
	last = mean_loss(h, n - part, part);
	end = h->last_step.loss; /* one of a few samples may lie above all others */
	if (last < first && last < start)
		finding_set(f, ST_PASS, "fell from %.3f to %.4f", start, end < start ? end : last);
	else
		say_not_fallen(x, f, start, first, last);
	if (f->status != ST_SKIP)
		finding_expect(f, "lower in the last quarter of the steps than in the first, and "
				  "than at first");
	report_add(x->r, f);
}

/* Of this it learns too little to be judged by, with some seed. */
static bool is_little(const struct run *x)
{
	return worth(x) < STEPS_TO_LEARN - ROUNDING || x->o->data->n[DATA_TRAIN] < SAMPLES_TO_LEARN;
}

void say_accuracy(const struct run *x)
{
	const struct train_epoch *last = &x->res->history.last;
	struct finding *f = say_find(x, "train.accuracy", -1);
	bool few = is_little(x) && !x->o->is_expected;
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
