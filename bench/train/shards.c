#include "bench/train/shards.h"

#include "lib/core/units.h"

#include <math.h>

static size_t layer_size(const struct shards *s, int layer)
{
	return s->net->first[layer + 1] - s->net->first[layer];
}

static size_t part_size(const struct shards *s, int layer)
{
	return s->first[layer + 1] - s->first[layer];
}

static float *wide_of(const struct shards *s, int layer)
{
	return s->wide + s->first[layer] * (size_t)s->comm->size;
}

int shards_new(struct shards *s, struct comm *c, struct net *n, struct err *e)
{
	size_t ranks = (size_t)c->size;

	*s = (struct shards){.comm = c, .net = n, .held = -1, .coming = -1, .leaving = -1, .e = e};
	for (int i = 0; i < n->nparts; i++)
		s->first[i + 1] = s->first[i] + (layer_size(s, i) + ranks - 1) / ranks;
	s->params = calloc(s->first[n->nparts], sizeof(float));
	s->grads = calloc(s->first[n->nparts], sizeof(float));
	s->velocity = calloc(s->first[n->nparts], sizeof(float));
	s->wide = calloc(s->first[n->nparts] * ranks, sizeof(float));
	if (!s->params || !s->grads || !s->velocity || !s->wide)
		return err_sys(e, "no memory for a part of %zu parameters", n->nparams);
	n->before = shards_hold;
	n->before_arg = s;
	return 0;
}

void shards_done(struct shards *s)
{
	free(s->params);
	free(s->grads);
	free(s->velocity);
	free(s->wide);
}

static void forget(struct shards *s, int layer)
{
	float *p = s->net->params + s->net->first[layer];

	for (size_t i = 0; i < layer_size(s, layer); i++)
		p[i] = NAN;
}

static void forget_all(struct shards *s)
{
	for (int i = 0; i < s->net->nparts; i++)
		forget(s, i);
	s->held = s->coming = s->leaving = -1;
	s->is_whole = false;
}

void shards_take(struct shards *s)
{
	for (int i = 0; i < s->net->nparts; i++) {
		size_t n = layer_size(s, i), part = part_size(s, i);
		size_t from = part * (size_t)s->comm->rank, left = from < n ? n - from : 0;

		memcpy(s->params + s->first[i], s->net->params + s->net->first[i] + from,
		       (left < part ? left : part) * sizeof(float));
	}
	memset(s->velocity, 0, s->first[s->net->nparts] * sizeof(float));
	forget_all(s);
}

void shards_resume(struct shards *s, const float *params, const float *velocity)
{
	size_t bytes = s->first[s->net->nparts] * sizeof(float);

	memcpy(s->params, params, bytes);
	memcpy(s->velocity, velocity, bytes);
	forget_all(s);
}

/* --- parameters on their way ----------------------------------------------------------- */

static int start_gather(struct shards *s, int layer)
{
	const struct comm_request q = {.kind = COLL_ALL_GATHER,
				       .send = s->params + s->first[layer],
				       .recv = wide_of(s, layer),
				       .count = part_size(s, layer),
				       .type = DT_FLOAT};

	return q.count ? comm_start(s->comm, &q, s->e) : 0;
}

static void arrive(struct shards *s, int layer)
{
	memcpy(s->net->params + s->net->first[layer], wide_of(s, layer),
	       layer_size(s, layer) * sizeof(float));
}

static int start_all(struct shards *s)
{
	for (int i = 0; i < s->net->nparts; i++)
		if (start_gather(s, i))
			return -1;
	return 0;
}

/* Of a graph all is needed first. */
int shards_begin(struct shards *s)
{
	uint64_t began = now_ns();
	int result;

	if (s->is_whole)
		forget_all(s);
	if (s->late)
		return 0;
	s->coming = 0;
	result = s->net->graph ? start_all(s) : start_gather(s, 0);
	s->spent_ns += now_ns() - began;
	return result;
}

int shards_gather(struct shards *s)
{
	uint64_t began = now_ns();
	bool are_coming = s->net->graph && !s->coming;

	if ((!are_coming && start_all(s)) || comm_wait(s->comm, s->e))
		return -1;
	s->coming = -1;
	for (int i = 0; i < s->net->nparts; i++)
		arrive(s, i);
	s->is_whole = true;
	s->spent_ns += now_ns() - began;
	return 0;
}

/* --- gradients on their way --------------------------------------------------------------- */

static bool can_scatter(const struct shards *s)
{
	return comm_caps(s->comm)->kinds >> COLL_REDUCE_SCATTER & 1;
}

static int start_reduce(struct shards *s, int layer)
{
	size_t part = part_size(s, layer);
	struct comm_request q = {.kind = COLL_REDUCE_SCATTER,
				 .send = wide_of(s, layer),
				 .recv = s->grads + s->first[layer],
				 .count = part,
				 .type = DT_FLOAT,
				 .op = OP_AVG};

	if (!can_scatter(s)) {
		q.kind = COLL_ALL_REDUCE;
		q.recv = wide_of(s, layer);
		q.count = part * (size_t)s->comm->size;
	}
	return part ? comm_start(s->comm, &q, s->e) : 0;
}

static int leave(struct shards *s, int layer)
{
	size_t n = layer_size(s, layer), all = part_size(s, layer) * (size_t)s->comm->size;
	float *wide = wide_of(s, layer);

	memcpy(wide, s->net->grads + s->net->first[layer], n * sizeof(float));
	memset(wide + n, 0, (all - n) * sizeof(float));
	if (s->late)
		return start_reduce(s, layer) || comm_wait(s->comm, s->e) ? -1 : 0;
	/* the layer that backward comes to next is more urgent: see hold() */
	s->leaving = layer;
	return s->net->graph || !layer ? start_reduce(s, layer) : 0;
}

int shards_reduce(struct shards *s, int layer)
{
	uint64_t began = now_ns();
	bool finished;
	int result;

	if (layer < 0)
		result = s->late ? 0 : comm_test(s->comm, &finished, s->e);
	else
		result = leave(s, layer);
	s->spent_ns += now_ns() - began;
	return result;
}

int shards_end(struct shards *s)
{
	if (comm_wait(s->comm, s->e))
		return -1;
	for (int i = 0; i < s->net->nparts && !can_scatter(s); i++)
		memcpy(s->grads + s->first[i],
		       wide_of(s, i) + part_size(s, i) * (size_t)s->comm->rank,
		       part_size(s, i) * sizeof(float));
	return 0;
}

/* --- both, layer by layer ------------------------------------------------------------------- */

/* Forward goes up to the last layer, backward then down from it. */
static int after(const struct shards *s, int layer)
{
	if (layer < s->held)
		return layer - 1;
	return layer + 1 < s->net->nparts ? layer + 1 : layer - 1;
}

static int hold(struct shards *s, int layer)
{
	int next = after(s, layer);

	if (s->held >= 0)
		forget(s, s->held);
	if ((s->coming != layer && start_gather(s, layer)) || comm_wait(s->comm, s->e))
		return -1;
	arrive(s, layer);
	s->held = layer;
	s->coming = -1;
	if (s->late)
		return 0;
	if (next >= 0 && start_gather(s, next))
		return -1;
	s->coming = next;
	if (s->leaving >= 0 && start_reduce(s, s->leaving))
		return -1;
	s->leaving = -1;
	return 0;
}

int shards_hold(void *shards, int layer)
{
	struct shards *s = shards;
	uint64_t began = now_ns();
	int result;

	if (s->is_whole || s->held == layer)
		return 0;
	if (s->net->graph) /* runs as one */
		return shards_gather(s);
	result = hold(s, layer);
	s->spent_ns += now_ns() - began;
	return result;
}

void shards_update(struct shards *s, struct sgd step)
{
	s->net->k->sgd(s->first[s->net->nparts], s->params, s->velocity, s->grads, step);
	if (s->is_whole)
		forget_all(s);
	else if (s->held >= 0)
		forget(s, s->held);
	s->held = s->coming = s->leaving = -1;
}
