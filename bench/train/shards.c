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

int shards_new(struct shards *s, struct comm *c, struct net *n, struct err *e)
{
	size_t ranks = (size_t)c->size, widest = 1;

	*s = (struct shards){.comm = c, .net = n, .held = -1, .e = e};
	for (int i = 0; i < n->nparts; i++) {
		size_t part = (layer_size(s, i) + ranks - 1) / ranks;

		s->first[i + 1] = s->first[i] + part;
		widest = part * ranks > widest ? part * ranks : widest;
	}
	s->params = calloc(s->first[n->nparts], sizeof(float));
	s->grads = calloc(s->first[n->nparts], sizeof(float));
	s->velocity = calloc(s->first[n->nparts], sizeof(float));
	s->wide = calloc(widest, sizeof(float));
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

void shards_take(struct shards *s)
{
	for (int i = 0; i < s->net->nparts; i++) {
		size_t n = layer_size(s, i), part = part_size(s, i);
		size_t from = part * (size_t)s->comm->rank, left = from < n ? n - from : 0;

		memcpy(s->params + s->first[i], s->net->params + s->net->first[i] + from,
		       (left < part ? left : part) * sizeof(float));
		forget(s, i);
	}
	memset(s->velocity, 0, s->first[s->net->nparts] * sizeof(float));
	s->held = -1;
}

static int gather(struct shards *s, int layer)
{
	uint64_t began = now_ns();
	const struct comm_request q = {.kind = COLL_ALL_GATHER,
				       .send = s->params + s->first[layer],
				       .recv = s->wide,
				       .count = part_size(s, layer),
				       .type = DT_FLOAT};
	int result = q.count ? comm_run(s->comm, &q, s->e) : 0;

	memcpy(s->net->params + s->net->first[layer], s->wide,
	       layer_size(s, layer) * sizeof(float));
	s->spent_ns += now_ns() - began;
	return result;
}

int shards_hold(void *shards, int layer)
{
	struct shards *s = shards;

	if (s->held == layer || (s->held >= 0 && s->net->graph))
		return 0;
	if (s->net->graph) { /* runs as one: all are held */
		s->held = layer;
		return shards_gather(s);
	}
	if (s->held >= 0)
		forget(s, s->held);
	s->held = layer;
	return gather(s, layer);
}

int shards_gather(struct shards *s)
{
	for (int i = 0; i < s->net->nparts; i++)
		if (gather(s, i))
			return -1;
	return 0;
}

int shards_reduce(struct shards *s, int layer)
{
	uint64_t began = now_ns();
	size_t n = layer_size(s, layer), part = part_size(s, layer);
	const struct comm_request q = {.kind = COLL_REDUCE_SCATTER,
				       .send = s->wide,
				       .recv = s->grads + s->first[layer],
				       .count = part,
				       .type = DT_FLOAT,
				       .op = OP_AVG};
	int result;

	memcpy(s->wide, s->net->grads + s->net->first[layer], n * sizeof(float));
	memset(s->wide + n, 0, (part * (size_t)s->comm->size - n) * sizeof(float));
	result = part ? comm_run(s->comm, &q, s->e) : 0;
	s->spent_ns += now_ns() - began;
	return result;
}

void shards_update(struct shards *s, float lr, float momentum, float decay)
{
	s->net->k->sgd(s->first[s->net->nparts], s->params, s->velocity, s->grads, lr, momentum,
		       decay);
	for (int i = 0; i < s->net->nparts; i++)
		if (i == s->held || s->net->graph)
			forget(s, i);
	s->held = -1;
}
