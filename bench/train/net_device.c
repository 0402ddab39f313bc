/* What stays in an engine's memory between steps, and the optimizer's step wherever they are. */
#include "bench/comm/types.h"
#include "bench/train/net.h"

static int take_grads(struct net *n, struct dev *dev, struct err *e)
{
	const struct engine_device *d = n->engine->device;
	void *p;

	if (!dev)
		return d->alloc(n->nparams, &n->there->grads, e);
	if (dev->alloc(dev, n->nparams * sizeof(float), &p, e))
		return -1;
	n->there->grads = p;
	n->there->dev = dev;
	return d->adopt(n->there->grads, n->nparams, e);
}

int net_device_new(struct net *n, struct dev *dev, struct err *e)
{
	const struct engine_device *d = n->engine ? n->engine->device : NULL;

	if (!d || !n->graph)
		return 0;
	n->there = calloc(1, sizeof(*n->there));
	if (!n->there)
		return err_sys(e, "no memory for a network");
	n->there->are_finite = true;
	return d->alloc(n->nparams, &n->there->params, e) ||
			       d->alloc(n->nparams, &n->there->velocity, e) || take_grads(n, dev, e)
		       ? -1
		       : 0;
}

void net_device_free(struct net *n)
{
	struct net_device *t = n->there;

	if (!t)
		return;
	n->engine->device->free(t->params);
	n->engine->device->free(t->velocity);
	n->engine->device->free(t->grads);
	if (t->dev)
		t->dev->free(t->dev, t->grads);
	free(t);
}

int net_store(struct net *n, struct err *e)
{
	const struct engine_device *d;
	float *zeros;
	int result;

	scaler_init(&n->scaler, n->engine);
	if (!n->there)
		return 0;
	d = n->engine->device;
	zeros = calloc(n->nparams, sizeof(*zeros));
	if (!zeros)
		return err_sys(e, "no memory for %zu parameters", n->nparams);
	result = d->put(n->there->velocity, zeros, n->nparams, e) ||
				 d->put(n->there->params, n->params, n->nparams, e)
			 ? -1
			 : 0;
	free(zeros);
	return result;
}

int net_fetch(struct net *n, struct err *e)
{
	return n->there ? n->engine->device->get(n->params, n->there->params, n->nparams, e) : 0;
}

int net_fetch_velocity(const struct net *n, float *velocity, struct err *e)
{
	return n->there ? n->engine->device->get(velocity, n->there->velocity, n->nparams, e) : 0;
}

int net_resume(struct net *n, const float *velocity, const struct scaler *saved, struct err *e)
{
	if (net_store(n, e))
		return -1;
	scaler_resume(&n->scaler, saved);
	return n->there ? n->engine->device->put(n->there->velocity, velocity, n->nparams, e) : 0;
}

/* Vector code, which isfinite() in a loop with an exit is not. */
bool net_is_finite(const float *v, size_t n)
{
	enum { RUN = 64 };
	uint32_t bad = 0;

	for (; n >= RUN; n -= RUN, v += RUN)
		for (int i = 0; i < RUN; i++)
			bad |= (float_to_bits(v[i]) & 0x7f800000) == 0x7f800000;
	for (size_t i = 0; i < n; i++)
		bad |= (float_to_bits(v[i]) & 0x7f800000) == 0x7f800000;
	return !bad;
}

void net_backward_end(struct net *n)
{
	struct net_device *t = n->there;

	if (t && t->keeps_grads && !net_failure(n))
		(void)n->engine->device->is_finite(&t->are_finite, &t->failure);
}

/* Whatever is averaged there: not finite if anybody's was not. */
static int look(struct net *n, bool *ret, struct err *e)
{
	const struct engine_device *d = n->engine->device;

	return d->watch(n->there->grads, n->nparams, e) || d->is_finite(ret, e) ? -1 : 0;
}

static int update_there(struct net *n, const struct sgd *s, bool *ret_lost, struct err *e)
{
	const struct engine_device *d = n->engine->device;
	bool is_scaled = scaler_is_used(&n->scaler), is_finite;
	struct net_device *t = n->there;

	if (!t->keeps_grads && d->put(t->grads, n->grads, n->nparams, e))
		return -1;
	*ret_lost = t->keeps_grads && !t->are_finite;
	if (is_scaled && look(n, &is_finite, e))
		return -1;
	if (is_scaled && !scaler_judge(&n->scaler, is_finite, ret_lost))
		return 0;
	return d->sgd(n->nparams, t->params, t->velocity, t->grads, *s, e);
}

int net_update(struct net *n, float *velocity, const struct sgd *s, bool *ret_lost, struct err *e)
{
	*ret_lost = false;
	if (n->there)
		return update_there(n, s, ret_lost, e);
	if (scaler_is_used(&n->scaler) &&
	    !scaler_judge(&n->scaler, net_is_finite(n->grads, n->nparams), ret_lost))
		return 0;
	n->k->sgd(n->nparams, n->params, velocity, n->grads, *s);
	return 0;
}
