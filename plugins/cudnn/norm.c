/* Batch normalization, as PyTorch does it, and sums over all pixels of a channel. */
#include "plugins/cudnn/parts.h"

enum {
	ROWS_LEAST = 16,	/* for a thread */
	THREADS_MOST = 1 << 18, /* whatever the GPU: how sums are rounded must not depend on it */
	FAN = 128,
};
static const float EPSILON = 1e-5f, MOMENTUM = 0.1f;

uint32_t norm_parts(const struct value *v)
{
	uint32_t rows = v->count / v->stored, groups = v->stored / pack_width();
	uint32_t parts = rows / ROWS_LEAST, most = THREADS_MOST / groups;

	parts = parts > most ? most : parts;
	return parts ? parts : 1;
}

size_t norm_room(const struct value *v) { return (size_t)norm_parts(v) * 2 * v->stored; }

uint32_t norm_sum_up(struct engine_net *n, uint32_t parts, uint32_t channels, const float **ret)
{
	int at = 0;

	while (parts > FAN) {
		uint32_t next = (parts + FAN - 1) / FAN;

		PLAIN(n, "sum_parts", next * 2 * channels, P(n->sums[1 - at]), P(n->sums[at]),
		      U(parts), U(2 * channels), U(FAN));
		parts = next;
		at = 1 - at;
	}
	*ret = n->sums[at];
	return parts;
}

static void learn(struct engine_net *n, int i)
{
	const struct value *x = &n->values[n->g->nodes[i].in];
	uint32_t rows = x->count / x->stored, parts = norm_parts(x);
	const struct op *op = &n->ops[i];
	const float *sums;

	TYPED(n, "norm_sums", x->stored / pack_width() * parts, P(n->sums[0]), P(x->p), U(rows),
	      U(x->area), U(x->stored), U(parts));
	parts = norm_sum_up(n, parts, x->stored, &sums);
	TYPED(n, "norm_finish", x->stored, P(op->mean), P(op->inverse),
	      P(n->stats + n->g->nodes[i].stats), P(sums), P(x->p), U(inner(x)), U(rows),
	      U(x->stored), U(parts), F(EPSILON), F(MOMENTUM));
}

void norm_forward(struct engine_net *n, int i, const float *params, bool is_training)
{
	const struct graph_node *node = &n->g->nodes[i];
	const struct value *x = &n->values[node->in], *y = &n->values[i + 1];
	uint32_t packs = x->count / pack_width();
	const struct op *op = &n->ops[i];

	if (is_training)
		learn(n, i);
	else
		PLAIN(n, "norm_use", x->stored, P(op->mean), P(op->inverse),
		      P(n->stats + node->stats), U(x->stored), F(EPSILON));
	TYPED(n, "norm_apply", packs, P(y->p), P(x->p), P(op->mean), P(op->inverse),
	      P(params + node->first), U(packs), U(inner(x)), U(x->stored), U(node->relu));
}

void norm_back(struct engine_net *n, int i, const float *params, float *grads)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct value *x = &n->values[node->in], *y = &n->values[i + 1];
	uint32_t rows = x->count / x->stored, parts = norm_parts(x);
	uint32_t packs = x->count / pack_width();
	const struct op *op = &n->ops[i];
	/* mean and inverse have room for these behind them: see net_create() */
	float *means = op->inverse + x->stored;
	const float *sums;

	TYPED(n, "back_sums", x->stored / pack_width() * parts, P(n->sums[0]), P(y->d), P(y->p),
	      P(x->p), P(op->mean), P(op->inverse), U(rows), U(x->area), U(x->stored), U(parts),
	      U(node->relu));
	parts = norm_sum_up(n, parts, x->stored, &sums);
	PLAIN(n, "norm_grads", x->stored, P(grads + node->first), P(means), P(sums), U(rows),
	      U(x->stored), U(parts), F(1 / gpu.scale));
	if (!node->in)
		return;
	TYPED(n, "norm_back", packs, P(x->d), P(y->d), P(y->p), P(x->p), P(op->mean),
	      P(op->inverse), P(params + node->first), P(means), U(packs), U(inner(x)),
	      U(x->stored), U(node->relu), U(x->has_diff));
	x->has_diff = true;
}
