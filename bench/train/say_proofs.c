#include "bench/train/say_run.h"

/* Whole ones, and one that was cut short: of its padding nobody knows. */
static const char *what_was_seen(const struct run *x)
{
	const struct train_result *res = x->res;
	const struct history *h = &res->history;
	size_t n = x->o->data->n[DATA_TRAIN];
	struct arena *a = report_arena(x->r);
	const char *all = res->dropped ? arena_printf(a, "%zu of %zu", n - res->dropped, n)
				       : arena_printf(a, "each of %zu", n);

	if (!h->last.whole && h->nepochs == 1)
		return "no sample was seen twice before the run ended";
	return arena_printf(
		a, "every %sepoch saw %s samples once; %zu twice as padding, %zu dropped%s",
		h->last.whole ? "" : "whole ", all, res->padding, res->dropped,
		h->last.whole ? "" : "; in the one after it none was seen twice");
}

void say_samples(const struct run *x)
{
	const struct train_result *res = x->res;
	const struct history *h = &res->history;
	int wrong = h->has_odd ? h->odd.wrong_shard : -1;
	struct finding *f = say_find(x, "train.samples", wrong);
	const struct lines l = say_lines(x);

	finding_set(f, ST_PASS, "%s", what_was_seen(x));
	if (wrong >= 0) {
		finding_set(f, ST_FAIL,
			    "%s took other samples than its own: some are learned twice, others "
			    "never",
			    say_who(x, wrong));
		finding_fix(f, "%s", lines_there(&l, wrong, ""));
	}
	if (h->has_odd && wrong < 0)
		finding_set(f, ST_FAIL, "epoch %zu missed %zu samples and repeated %zu",
			    (size_t)h->odd.number + 1, (size_t)h->odd.missed,
			    (size_t)h->odd.repeated);
	finding_expect(f, "each sample once, but %zu for padding", res->padding);
	report_add(x->r, f);
}

void say_fix_exchange(const struct run *x, struct finding *f)
{
	const struct lines l = say_lines(x);

	finding_fix(f, "%s", lines_bench(&l, " -b 1M -e 64M -n 50"));
}

/* Alone it has no exchange that could be wrong. */
static void fix_alone(const struct run *x, struct finding *f, int rank)
{
	const struct lines l = say_lines(x);

	finding_fix(f, "%s", lines_alone(&l, rank, " --epochs 20"));
}

/*
 * The rank whose hash most others do not have; where there is no majority, who went another
 * way than one process does. -1: none of them can be told from the others.
 */
static int odd_params(const struct run *x, const struct train_epoch *ep)
{
	for (int i = 0; i < x->w->size; i++) {
		int same = 0;

		for (int k = 0; k < x->w->size; k++)
			same += ep->words[k].params == ep->words[i].params;
		if (2 * same < x->w->size && x->w->size > 2)
			return i;
	}
	return x->alone ? x->alone->odd_rank : -1;
}

/* All of them, of whom nobody can be told from the others: as the subject of a sentence. */
static const char *who_of_all(const struct run *x)
{
	struct arena *a = report_arena(x->r);

	if (x->w->size == 2)
		return arena_printf(a, "%s or %s (of two, which cannot be told)", say_who(x, 0),
				    say_who(x, 1));
	return arena_printf(a, "one of %d ranks (which cannot be told)", x->w->size);
}

void say_params(const struct run *x)
{
	size_t n = (size_t)x->res->history.nepochs;
	const struct train_epoch *last = &x->res->history.last;
	int odd = last->equal ? -1 : odd_params(x, last);
	struct finding *f = say_find(x, "train.params", odd);

	if (last->equal)
		finding_set(f, ST_PASS, "bit-equal on all ranks after every epoch (%zu)", n);
	else if (odd >= 0)
		finding_set(f, ST_FAIL,
			    "%s has other parameters than the other ranks after epoch %zu: what "
			    "it got of the exchange was wrong",
			    say_who(x, odd), n);
	else
		finding_set(f, ST_FAIL,
			    "the ranks have different parameters after epoch %zu: what %s got of "
			    "the exchange was wrong",
			    n, who_of_all(x));
	if (!last->equal)
		say_fix_exchange(x, f);
	finding_expect(f, "the same bits on every rank");
	report_add(x->r, f);
}

static const char *steps(const struct run *x, uint64_t count)
{
	size_t n = (size_t)count;

	return arena_printf(report_arena(x->r), "%zu step%s", n, n == 1 ? "" : "s");
}

/* With other samples or NaN in it there is nothing to compare; that has its own finding. */
static bool is_comparable(const struct run *x)
{
	return x->alone && !x->alone->control.is_wrong && !x->alone->is_lost &&
	       say_bad_rank(x) < 0 && x->res->history.first.wrong_shard < 0;
}

/* What all other proofs rest on: they compare that GPU with others, or with itself. */
void say_compute(const struct run *x)
{
	const struct train_control *c = x->alone ? &x->alone->control : NULL;
	const struct lines l = say_lines(x);
	struct finding *f;

	if (!c || !c->layers)
		return;
	f = say_find(x, "train.compute", c->is_wrong ? 0 : -1);
	finding_set(f, ST_PASS,
		    "the GPU's gradient of %d samples is the processor's in each of %s's %d layers "
		    "(difference %.2g)",
		    c->samples, c->model->name, c->layers, c->off);
	if (c->is_wrong) {
		finding_set(f, ST_FAIL,
			    "%s computes another gradient than its processor does of the same "
			    "samples: in layer %d of %d of %s (%s) it is %.3g times as long and "
			    "%.2g of its length away",
			    say_who(x, 0), c->layer, c->layers, c->model->name,
			    c->is_conv	 ? "a convolution"
			    : c->is_norm ? "a normalization"
					 : "a dense one",
			    c->scale, c->off);
		finding_fix(f,
			    "%s   # wrong on another GPU, too: it is cuDNN, cuBLAS or the driver",
			    lines_alone(&l, 0, ""));
	}
	finding_expect(f, "at most %g of its length away, and %g to %g times as long", c->may_off,
		       1 - c->may_scale, 1 + c->may_scale);
	finding_value(f, c->off, NULL);
	report_add(x->r, f);
}

/* Whose parameters are too far from one process's; all have these where nobody parted. */
static void say_far(const struct run *x, struct finding *f, int far, bool are_equal)
{
	const struct train_alone *a = x->alone;
	const char *who = far >= 0    ? say_who(x, far)
			  : are_equal ? x->w->size > 1 ? "every rank" : say_who(x, 0)
				      : who_of_all(x);

	const char *why = a->unlike ? "a gradient that was not compared was wrong, or they"
				    : "the gradients were right, and";

	finding_set(f, ST_FAIL,
		    "after %s %s is %g away from what one process gets: %s went wrong on their "
		    "way%s",
		    steps(x, x->res->proven_taken), who, a->distance, why,
		    far < 0 && are_equal ? ", for all ranks alike" : "");
	say_fix_exchange(x, f);
}

/* What was not compared as strictly. */
static const char *unlike(const struct run *x)
{
	int n = x->alone->unlike;

	if (!n)
		return "";
	return arena_printf(report_arena(x->r),
			    "; %d rank%s with other hardware or libraries than rank 0: no gradient "
			    "of %s was compared bit by bit",
			    n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
}

void say_reference(const struct run *x)
{
	const struct train_epoch *first = &x->res->history.first;
	const struct train_alone *a = x->alone;
	struct finding *f;
	int far;

	if (!is_comparable(x))
		return;
	/* what went wrong at one rank soon moves the others, too; a part has one owner */
	far = !first->equal ? odd_params(x, first) : a->far_owner;
	f = say_find(x, "train.reference",
		     a->wrong_rank >= 0 ? a->wrong_rank
		     : a->is_far	? far
					: -1);
	if (a->wrong_rank >= 0)
		finding_set(f, ST_FAIL,
			    "%s computed another gradient in step %zu than one process does of "
			    "the same samples: its computing is wrong, not the network",
			    say_who(x, a->wrong_rank), (size_t)a->wrong_step);
	else if (a->is_far)
		say_far(x, f, far, first->equal);
	else if (!x->res->proven_taken)
		finding_set(f, ST_SKIP,
			    "not judged: fp16's loss scaling left out each of the first %s",
			    steps(x, x->res->proven_steps));
	else
		finding_set(f, ST_PASS,
			    "after %s the parameters are those of one process that runs %s "
			    "(difference %.2g)%s",
			    steps(x, x->res->proven_taken),
			    x->w->size == 1
				    ? "the same samples"
				    : arena_printf(report_arena(x->r), "all %d shards", x->w->size),
			    a->distance, unlike(x));
	if (a->wrong_rank >= 0)
		fix_alone(x, f, a->wrong_rank);
	if (x->res->proven_taken || a->is_far) {
		finding_expect(f, "<= %g in every parameter", a->tolerance);
		finding_value(f, a->distance, NULL);
	}
	report_add(x->r, f);
}

/* NVLink's and InfiniBand's switches add what arrives first: that much is no fault. */
static bool is_reordered(const struct run *x)
{
	return streq(x->w->backend, "nccl") && x->w->size > 2 &&
	       x->res->unlike_by <= TRAIN_TOLERANCE;
}

/* A variable that is set here does not come to other hosts, nor to ranks of somebody else. */
static void fix_order(const struct run *x, struct finding *f)
{
	const struct lines l = say_lines(x);

	if (x->w->hosts > 1 || x->o->is_foreign)
		finding_fix(
			f,
			"- NCCL_NVLS_ENABLE=0 and NCCL_COLLNET_ENABLE=0 for all ranks (in "
			"~/.nccl.conf of each host), and the same again: still, it is a wrong sum");
	else
		finding_fix(f,
			    "NCCL_NVLS_ENABLE=0 NCCL_COLLNET_ENABLE=0 %s   # still: it is a wrong "
			    "sum",
			    lines_again(&l, "--backend", "nccl"));
}

void say_repeat(const struct run *x)
{
	const struct train_result *res = x->res;
	struct finding *f;

	if (!res->repeated)
		return;
	f = say_find(x, "train.repeat",
		     res->fickle_rank >= 0 ? res->fickle_rank : res->unlike_rank);
	if (res->fickle_rank >= 0) {
		finding_set(f, ST_FAIL,
			    "%s computed another gradient when step %zu was done again: its "
			    "computing cannot be relied on",
			    say_who(x, res->fickle_rank), (size_t)res->fickle_step);
		fix_alone(x, f, res->fickle_rank);
	} else if (res->unlike_rank >= 0) {
		finding_set(f, ST_FAIL,
			    "the same gradients gave %s other parameters the second time: what "
			    "it got of the exchange was wrong",
			    say_who(x, res->unlike_rank));
		say_fix_exchange(x, f);
	} else if (res->all_unlike && is_reordered(x)) {
		finding_set(f, ST_WARN,
			    "the same gradients gave all ranks parameters that differ by %.2g the "
			    "second time: NCCL added in another order, as it may where switches "
			    "add, or a sum was wrong",
			    res->unlike_by);
		fix_order(x, f);
	} else if (res->all_unlike) {
		finding_set(f, ST_FAIL,
			    "the same gradients gave all ranks other parameters the second time: "
			    "the exchange gave a wrong sum, once or both times");
		say_fix_exchange(x, f);
	} else {
		finding_set(f, ST_PASS, "the same seed gave the same bits again (%s)",
			    steps(x, res->proven_steps));
	}
	finding_expect(f, "the same bits twice");
	report_add(x->r, f);
}
