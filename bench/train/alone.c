#include "bench/train/control.h"
#include "bench/train/random.h"
#include "bench/train/train.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <float.h>
#include <math.h>

#define ROUNDING 1e-6 /* of a step, in any parameter */

struct alone {
	const struct train_opts *o;
	const struct train_result *r;
	struct train_alone *ret;
	struct net *net;
	struct sampler sampler;
	float *sum, *velocity;
	double pull;		   /* no velocity is larger, whichever the signs of gradients */
	double sample_s, update_s; /* the quickest */
	size_t farthest;	   /* the parameter that made ret->distance */
	bool parted;
	uint64_t hash; /* of the gradient */
	struct err *e;
};

static double largest(const float *v, size_t n)
{
	float most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(v[i]));
	return (double)most;
}

static int gradient(struct alone *a, int rank, uint64_t step)
{
	uint64_t began = now_ns();

	if (train_load(a->net, a->o, &a->sampler, rank, step, a->e))
		return -1;
	(void)net_forward(a->net);
	(void)net_backward(a->net, NULL, NULL);
	if (net_failure(a->net))
		return err_set(a->e, ERR_SYS, "%s", net_failure(a->net));
	a->sample_s = fmin(a->sample_s, (double)(now_ns() - began) / 1e9 / a->net->samples);
	a->hash = 0;
	for (int i = a->net->nparts - 1; i >= 0; i--)
		a->hash = train_hash_layer(a->hash, a->net, i);
	return 0;
}

static uint64_t hash_params(const struct alone *a)
{
	return hash_words(a->net->params, a->net->nparams);
}

/*
 * What a rank computed must be what is computed here, to the bit, of the same
 * parameters. A rank that has others than rank 0 cannot be judged; nor one whose
 * processor, GPU or library is not ours: it rounds otherwise.
 */
static void check(struct alone *a, int rank, uint64_t step)
{
	const struct train_word *words = a->r->history.first.words, *w = &words[rank];

	if (a->ret->wrong_rank >= 0 || w->maker != words[0].maker ||
	    w->before[step] != words[0].before[step] || w->grads[step] == a->hash)
		return;
	a->ret->wrong_rank = rank;
	a->ret->wrong_step = step;
}

/*
 * None has ours to the bit (an engine rounds otherwise than we do). Rank 0's we know at
 * every step: did this one take them away from ours, or only others' from both? Of a
 * difference as small as rounding nobody can be blamed.
 */
static int odd_by_distance(const struct alone *a, uint64_t step, double distance)
{
	const struct train_word *words = a->r->history.first.words;
	double step_rounding = a->ret->tolerance > TRAIN_TOLERANCE ? a->ret->tolerance : ROUNDING;
	int other = 1;

	while (words[other].before[step] == words[0].before[step])
		other++;
	if (!(distance <= step_rounding))
		return 0;
	return a->r->apart[other] <= a->ret->tolerance ? -1 : other;
}

/* Where the ranks parted for the first time: those are odd that are not like us. */
static void find_odd(struct alone *a, uint64_t step, uint64_t params)
{
	const struct train_word *words = a->r->history.first.words;
	double distance = train_farthest(a->r->noted[step], a->net->params, a->net->nparams, NULL);
	bool parted = false, some_right = false;
	int odd = -1;

	for (int i = 0; i < a->o->np; i++) {
		parted |= words[i].before[step] != words[0].before[step];
		some_right |= words[i].before[step] == params;
		if (odd < 0 && words[i].before[step] != params)
			odd = i;
	}
	if (parted && !a->parted)
		a->ret->odd_rank = some_right ? odd : odd_by_distance(a, step, distance);
	a->parted |= parted;
}

/* Of the numbers that are multiplied: bits, with the leading one that is not stored. */
static int precision(const struct train_opts *o)
{
	static const int bits[] = {[ENGINE_FLOAT32] = 24, [ENGINE_BF16] = 8, [ENGINE_FP16] = 11};
	const struct engine_loaded *l = o->loaded;

	if (!l || !l->engine || !l->engine->device)
		return 24;
	return l->precision == ENGINE_FLOAT32 && l->choice && l->choice->tf32 ? 11
									      : bits[l->precision];
}

/*
 * Ranks and we add the same gradients in another order: each of the sums is off by half a unit in
 * the last of its 24 bits, and so is what is made of the average, a velocity and a parameter. With
 * the usual steps that is far below TRAIN_TOLERANCE; of large ones parameters grow, and that with
 * them. A contribution that is missing is off by a gradient.
 */
static double reordering(const struct alone *a)
{
	double reach = largest(a->net->params, a->net->nparams);

	return FLT_EPSILON * (reach + a->o->lr * a->pull * a->o->np);
}

/*
 * How far from ours is too far? Where products are of float32 there is but the order of sums.
 *
 * Where values are rounded to p bits first, such a difference turns some of them over, by
 * one unit in the last place, 2^(1-p) of themselves; in a deep network, after a few layers,
 * any of them. A gradient is sums of products of values that were rounded once in each of
 * n nodes on the way there and once on the way back, all independent of each other: it is
 * off by about sqrt(2 n) 2^(1-p) of the size of what is summed. (Of what is summed, not of
 * the sum: so it is measured by the largest gradient and not by each one's own.) Parameters
 * moved by gradients, their sums times the learning rate: if none moved farther than D, they
 * are apart by that part of D. Of cnn in bf16 it is 3 % of D, of resnet18 9 %, in fp16 and
 * TF32 an eighth of these; with a contribution missing or wrong gradients are off by as much
 * as they are large.
 *
 * Where ranks do not all compute by the same, their gradients are off by more than one place,
 * and by those of a maximum or a ReLU that turned over as well: as if of so many bits.
 */
enum { UNLIKE_BITS = 10 };
static void set_tolerance(struct alone *a)
{
	const struct net *n = a->net;
	const float *start = a->r->noted[0];
	int bits = precision(a->o), nodes = n->graph ? n->graph->n : n->nparts;
	double farthest = train_farthest(n->params, start, n->nparams, NULL), most;

	if (a->ret->unlike && bits > UNLIKE_BITS)
		bits = UNLIKE_BITS;
	most = reordering(a);
	if (bits < 24)
		most = fmax(most, farthest * sqrt(2.0 * nodes) * ldexp(1, 1 - bits));
	if (isfinite(most) && most > a->ret->tolerance)
		a->ret->tolerance = most;
}

/* Are these parameters farther from ours than any before? */
static void measure(struct alone *a, const float *theirs)
{
	size_t where;
	double far = train_farthest(theirs, a->net->params, a->net->nparams, &where);

	if (far <= a->ret->distance)
		return;
	a->ret->distance = far;
	a->farthest = where;
}

static int step(struct alone *a, uint64_t step)
{
	const struct sgd s = train_sgd(a->o, 0);
	uint64_t ranks = (uint64_t)a->o->np, began;
	bool was_finite = net_is_finite(a->r->noted[step], a->net->nparams), lost;
	double steepest = 0;

	/*
	 * Each step begins where rank 0 began it. With more than two ranks sums are rounded in
	 * another order than ours; were that carried on, a deep network would make as much of it as
	 * of a wrong gradient: one value that is a hair below zero and not above turns a ReLU over,
	 * the parameters behind it move 0.2 % otherwise, and of these a tenth of the next step
	 * comes.
	 */
	memcpy(a->net->params, a->r->noted[step], a->net->nparams * sizeof(*a->net->params));
	for (int rank = 0; rank < a->o->np; rank++) {
		if (interrupt_pending())
			return interrupt_err(a->e);
		if (gradient(a, rank, step))
			return -1;
		if (a->r->proving)
			a->r->proving(a->r, step * ranks + (uint64_t)rank + 1,
				      a->r->proven_steps * ranks);
		steepest = fmax(steepest, largest(a->net->grads, a->net->nparams));
		for (size_t i = 0; i < a->net->nparams; i++)
			a->sum[i] = rank ? a->sum[i] + a->net->grads[i] : a->net->grads[i];
		check(a, rank, step);
	}
	steepest += a->o->decay * largest(a->net->params, a->net->nparams);
	if (isfinite(steepest)) /* else fp16 leaves the step out */
		a->pull = a->o->momentum * a->pull + steepest;
	for (size_t i = 0; i < a->net->nparams; i++)
		a->sum[i] /= (float)a->o->np;
	memcpy(a->net->grads, a->sum, a->net->nparams * sizeof(*a->sum));
	began = now_ns();
	if (net_update(a->net, a->velocity, &s, &lost, a->e))
		return -1;
	a->update_s = fmin(a->update_s, (double)(now_ns() - began) / 1e9);
	a->ret->is_lost = !net_is_finite(a->net->params, a->net->nparams);
	a->ret->ran_away = a->ret->is_lost && was_finite;
	set_tolerance(a);
	find_odd(a, step + 1, hash_params(a));
	measure(a, a->r->noted[step + 1]);
	return 0;
}

/* Every rank has something between two ends: so whoever is farthest from us has one of them. */
static void judge(struct alone *a)
{
	measure(a, a->r->lowest);
	measure(a, a->r->highest);
	a->ret->is_far = !(a->ret->distance <= a->ret->tolerance);
	if (a->ret->is_far && a->o->is_sharded)
		a->ret->far_owner = train_owner(a->net, a->o->np, a->farthest);
}

static int run(struct alone *a, struct err *e)
{
	size_t n = a->r->nparams;

	for (int i = 1; i < a->o->np; i++)
		a->ret->unlike +=
			a->r->history.first.words[i].maker != a->r->history.first.words[0].maker;
	a->net = net_new(a->o->model, a->r->kernels, a->o->engine, a->o->batch, e);
	if (!a->net || sampler_begin(&a->sampler, 0, e))
		return -1;
	a->sum = arena_alloc(a->r->a, n * sizeof(float));
	a->velocity = arena_alloc(a->r->a, n * sizeof(float));
	for (uint64_t i = 0; i < a->r->proven_steps && !a->ret->is_lost; i++)
		if (step(a, i))
			return -1;
	a->ret->samples_per_s = 1 / (a->sample_s + a->update_s / a->o->batch);
	judge(a);
	return 0;
}

/* What stays in a GPU's memory while ranks train came here for each of these steps. */
static bool is_faster_there(const struct train_opts *o, const struct train_alone *alone)
{
	return o->engine && o->engine->device && !o->is_sharded && !alone->is_lost;
}

int train_alone(const struct train_opts *o, const struct train_result *r, struct train_alone *ret,
		struct err *e)
{
	struct alone a = {.o = o,
			  .r = r,
			  .ret = ret,
			  .sampler = train_sampler(o),
			  .sample_s = INFINITY,
			  .update_s = INFINITY,
			  .e = e};
	int result;

	*ret = (struct train_alone){
		.wrong_rank = -1, .odd_rank = -1, .far_owner = -1, .tolerance = TRAIN_TOLERANCE};
	result = run(&a, e);
	net_free(a.net);
	if (!result && is_faster_there(o, ret))
		result = train_pace(o, r, &ret->samples_per_s, e);
	if (!result)
		result = train_control(o, r, &ret->control, e);
	sampler_done(&a.sampler);
	return result;
}
