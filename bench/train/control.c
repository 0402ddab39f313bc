#include "bench/train/control.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"

#include <math.h>

/*
 * Rounding turns gradients, it does not shorten them: of a deep network in 16 bits a layer's is off
 * by a good part of its length, in all directions, and yet as long as it was. So there is a limit
 * to each of the two. (Seen, of resnet18 with 16 samples: bf16 0.47 away, 6 % longer or shorter;
 * fp16 0.16; float32 1e-5, and 0.014 of images of 128 pixels: those that are made have areas alike,
 * where the last bit decides which pixel of a pool is the largest.)
 */
static const struct limits {
	double off, scale;
} limits[] = {
	[ENGINE_FLOAT32] = {0.2, 0.04}, [ENGINE_BF16] = {0.8, 0.12}, [ENGINE_FP16] = {0.4, 0.08}};

static const struct limits *limits_of(const struct engine_loaded *l)
{
	const char *set = getenv("NVIDIA_TF32_OVERRIDE"); /* for all that asks for float32 */
	bool is_tf32 = l->choice->tf32 || (set && streq(set, "1"));

	return &limits[l->precision == ENGINE_FLOAT32 && is_tf32 ? ENGINE_FP16 : l->precision];
}

enum { LEAST = 16 }; /* samples: normalizing over a few blows up rounding */

/* No more than a processor's one core does in a second or two: most batches are no larger. */
static int samples_of(const struct model *m, const struct train_opts *o)
{
	int most = m->graph ? 64 * 96 * 96 / (m->side * m->side) : 1024;
	int n = o->batch < most ? o->batch : most;

	n = n < LEAST ? LEAST : n;
	return o->data->n[DATA_TRAIN] < (size_t)n ? (int)o->data->n[DATA_TRAIN] : n;
}

static int load(struct net *n, const struct train_opts *o, struct err *e)
{
	size_t side = (size_t)n->model->side;
	AUTO_FREE float *pixels =
		malloc((size_t)n->model->channels * side * side * sizeof(*pixels));

	if (!pixels)
		return err_sys(e, "no memory for a sample");
	if (net_begin(n, n->batch, e))
		return -1;
	for (int i = 0; i < n->batch; i++) {
		int label = data_get(o->data, DATA_TRAIN, (size_t)i, n->model->channels,
				     n->model->side, pixels);

		net_put(n, i, pixels, label);
	}
	return 0;
}

/* Of the first samples. fp16: until its scale is not too large. */
static int gradient(struct net *n, const struct train_opts *o, float *ret_plain, struct err *e)
{
	bool lost = false, is_taken = false;

	net_init(n, o->seed);
	while (!is_taken && !lost) {
		if (load(n, o, e))
			return -1;
		(void)net_forward(n);
		(void)net_backward(n, NULL, NULL);
		if (net_failure(n))
			return err_set(e, ERR_SYS, "%s", net_failure(n));
		is_taken = !scaler_is_used(&n->scaler) ||
			   scaler_judge(&n->scaler, net_is_finite(n->grads, n->nparams), &lost);
	}
	if (!n->graph)
		memcpy(ret_plain, n->grads, n->nparams * sizeof(float));
	else if (n->engine->convert(n->whole, n->grads, ret_plain, true))
		return err_set(e, ERR_SYS, "%s", net_failure(n));
	return 0;
}

struct parts {
	const struct net *net;
	const float *theirs, *ours;
};

/* One layer's: its distance from ours, and its length, in parts of the length of ours. */
static void measure(const struct parts *p, int part, double *ret_off, double *ret_scale)
{
	double apart = 0, there = 0, here = 0;

	for (size_t i = p->net->first[part]; i < p->net->first[part + 1]; i++) {
		double t = (double)p->theirs[i], o = (double)p->ours[i];

		apart += (t - o) * (t - o);
		there += t * t;
		here += o * o;
	}
	*ret_off = apart > 0 || isnan(apart) ? sqrt(apart / here) : 0;
	*ret_scale = here > 0 ? sqrt(there / here) : 1;
}

/* How much of what may be: above 1 is wrong; NaN is. */
static double share(const struct limits *l, double off, double scale)
{
	double a = off / l->off, b = fabs(scale - 1) / l->scale;

	return isnan(a) || isnan(b) ? INFINITY : fmax(a, b);
}

static void judge(const struct parts *p, const struct limits *l, struct train_control *ret)
{
	double off, scale, worst = -1;

	ret->may_off = l->off;
	ret->may_scale = l->scale;
	for (int i = 0; i < p->net->nparts; i++) {
		if (p->net->first[i] == p->net->first[i + 1])
			continue;
		measure(p, i, &off, &scale);
		ret->layers++;
		if (share(l, off, scale) <= worst)
			continue;
		worst = share(l, off, scale);
		ret->off = off;
		ret->scale = scale;
		ret->layer = ret->layers;
		ret->is_conv = p->net->graph->nodes[i].op == GRAPH_CONV;
		ret->is_norm = p->net->graph->nodes[i].op == GRAPH_NORM;
	}
	ret->is_wrong = !(worst <= 1);
}

static int compare(const struct train_opts *o, const struct train_result *r,
		   const struct engine *cpu, struct train_control *ret, struct err *e)
{
	struct net *there = net_new(ret->model, r->kernels, o->engine, ret->samples, e), *here;
	AUTO_FREE float *grads = NULL;
	int result = -1;

	here = there ? net_new(ret->model, r->kernels, cpu, ret->samples, e) : NULL;
	grads = here ? calloc(2 * here->nparams, sizeof(*grads)) : NULL;
	if (here && !grads)
		err_sys(e, "no memory for two gradients");
	if (grads && !gradient(there, o, grads, e) &&
	    !gradient(here, o, grads + here->nparams, e)) {
		judge(&(struct parts){there, grads, grads + here->nparams}, limits_of(o->loaded),
		      ret);
		result = 0;
	}
	net_free(there);
	net_free(here);
	return result;
}

int train_control(const struct train_opts *o, const struct train_result *r,
		  struct train_control *ret, struct err *e)
{
	const struct engine *cpu = NULL;
	struct err lacks = {0};

	*ret = (struct train_control){.model = o->model, .samples = samples_of(o->model, o)};
	if (!o->engine || !o->engine->device)
		return 0;
	if (o->model->graph && ret->samples >= LEAST)
		cpu = engine_cpu(r->a, &lacks);
	if (o->model->graph && !cpu) {
		ret->model = model_find("cnn"); /* its layers are the same library's */
		ret->samples = samples_of(ret->model, o);
	}
	if (!compare(o, r, cpu, ret, e))
		return 0;
	if (ret->samples <= o->batch || interrupt_pending())
		return -1;
	log_warn("the GPU's gradient was not compared with the processor's: %s", e->msg);
	*e = (struct err){0}; /* the run itself had room for its batches */
	*ret = (struct train_control){0};
	return 0;
}
