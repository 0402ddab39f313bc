/*
 * Weights are float32, in PyTorch's order, wherever the caller keeps them. 16 bit
 * products want them as [out][tap][in], filled up with zeros; cuDNN wants them aligned.
 */
#include "plugins/cudnn/parts.h"

static uint32_t taps_of(const struct graph_node *node)
{
	int k = node->op == GRAPH_CONV ? node->k : node->from_side;

	return (uint32_t)(k * k);
}

static uint32_t plain_count(const struct graph_node *node)
{
	return (uint32_t)(node->channels * node->from) * taps_of(node);
}

int weights_build(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];

	op->taps = taps_of(node);
	op->nweights = n->values[i + 1].stored * op->taps * n->values[node->in].stored;
	if (!gpu_is_16() && node->first % 4 == 0)
		return 0;
	return gpu_alloc(op->nweights * gpu_type_size(), &op->weights, &n->failure) ||
			       gpu_alloc(op->nweights * gpu_type_size(), &op->dweights, &n->failure)
		       ? -1
		       : 0;
}

const void *weights_ready(struct engine_net *n, int i, const float *params)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];

	params += node->first;
	if (!op->weights)
		return params;
	if (gpu_is_16())
		TYPED(n, "pack_weights", op->nweights, P(op->weights), P(params), U(op->nweights),
		      U(node->channels), U(node->from), U(n->values[node->in].stored), U(op->taps));
	else
		PLAIN(n, "copy", op->nweights, P(op->weights), P(params), U(op->nweights));
	return op->weights;
}

void *weights_grads(struct engine_net *n, int i, float *grads)
{
	return n->ops[i].dweights ? n->ops[i].dweights : grads + n->g->nodes[i].first;
}

void weights_grads_done(struct engine_net *n, int i, float *grads)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];
	uint32_t count = plain_count(node);

	grads += node->first;
	if (!op->dweights)
		return;
	if (gpu_is_16())
		TYPED(n, "unpack_weights", count, P(grads), P(op->dweights), U(count),
		      U(node->from), U(n->values[node->in].stored), U(op->taps), F(1 / gpu.scale));
	else
		PLAIN(n, "copy", count, P(grads), P(op->dweights), U(count));
}
