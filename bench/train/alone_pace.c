/*
 * How fast one rank is on a GPU that it has to itself, as it goes then: parameters, velocity and
 * gradients stay there from step to step, and the next batch is filled while it computes. The
 * steps that prove something say nothing about it: what they make has to come here each time.
 */
#include "bench/train/control.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <math.h>

enum { STEPS = 5 }; /* the first begins, as that of a training does */

struct pace {
	const struct train_opts *o;
	struct net *net;
	struct sampler sampler;
	struct err *e;
};

/* Whole ones, from the first on. */
static int load(struct pace *p, uint64_t step)
{
	uint64_t batches = sampler_per_rank(&p->sampler) / (uint64_t)p->o->batch;

	return train_load(p->net, p->o, &p->sampler, 0, batches ? step % batches : 0, p->e);
}

static int watch(void *arg, int layer)
{
	struct pace *p = arg;
	const struct net *n = p->net;
	size_t from = n->first[layer], count = n->first[layer + 1] - from;

	return count ? n->engine->device->watch(n->there->grads + from, count, p->e) : 0;
}

/* Behind forward, which waits for all that was asked for before. */
static int rest_of_step(struct pace *p, uint64_t step)
{
	const struct sgd s = train_sgd(p->o, 0);
	bool lost;

	if (net_backward(p->net, watch, p) || load(p, step + 1))
		return -1;
	net_backward_end(p->net);
	if (net_failure(p->net))
		return err_set(p->e, ERR_SYS, "%s", net_failure(p->net));
	return net_update(p->net, NULL, &s, &lost, p->e);
}

static int measure(struct pace *p, const float *params, double *ret)
{
	uint64_t before = 0, now;

	if (net_device_new(p->net, NULL, p->e) || sampler_begin(&p->sampler, 0, p->e))
		return -1;
	memcpy(p->net->params, params, p->net->nparams * sizeof(*params));
	p->net->there->keeps_grads = true;
	if (net_store(p->net, p->e) || load(p, 0))
		return -1;
	for (uint64_t i = 0; i <= STEPS; i++) {
		if (interrupt_pending())
			return interrupt_err(p->e);
		(void)net_forward(p->net);
		now = now_ns();
		if (i)
			*ret = fmax(*ret, p->net->samples * 1e9 / (double)(now - before));
		before = now;
		if (i < STEPS && rest_of_step(p, i))
			return -1;
	}
	return 0;
}

int train_pace(const struct train_opts *o, const struct train_result *r, double *ret, struct err *e)
{
	struct pace p = {.o = o, .sampler = train_sampler(o), .e = e};
	int result;

	*ret = 0;
	p.net = net_new(o->model, r->kernels, o->engine, o->batch, e);
	result = p.net ? measure(&p, r->noted[0], ret) : -1;
	if (p.net && net_failure(p.net) && !result)
		result = err_set(e, ERR_SYS, "%s", net_failure(p.net));
	net_free(p.net);
	sampler_done(&p.sampler);
	return result;
}
