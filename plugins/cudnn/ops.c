/* Launching, and the operations that are one kernel each way. */
#include "plugins/cudnn/parts.h"

void launch_plain(struct engine_net *n, const char *name, uint32_t work, const struct arg *args,
		  size_t nargs)
{
	void *list[ARGS_MAX];

	if (!is_well(n))
		return;
	for (size_t i = 0; i < nargs && i < ARGS_MAX; i++)
		list[i] = (void *)(uintptr_t)&args[i].v;
	(void)gpu_launch(&n->failure, name, work, list);
}

void launch_typed(struct engine_net *n, const char *name, uint32_t work, const struct arg *args,
		  size_t nargs)
{
	static const char *const types[] = {
		[ENGINE_FLOAT32] = "f32", [ENGINE_BF16] = "bf16", [ENGINE_FP16] = "fp16"};
	char whole[32];

	(void)snprintf(whole, sizeof(whole), "%s_%s", name, types[gpu.precision]);
	launch_plain(n, whole, work, args, nargs);
}

static struct window window_of(const struct graph_node *node)
{
	return (struct window){(uint32_t)node->from_side, (uint32_t)node->side, (uint32_t)node->k,
			       (uint32_t)node->stride, (uint32_t)node->pad};
}

void pool_forward(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	const struct value *x = &n->values[node->in], *y = &n->values[i + 1];
	uint32_t packs = y->count / pack_width();

	TYPED(n, "pool", packs, P(y->p), P(n->ops[i].taken), P(x->p), U(packs),
	      U(y->stored / pack_width()), W(window_of(node)));
}

void pool_back(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct value *x = &n->values[node->in], *y = &n->values[i + 1];
	uint32_t packs = x->count / pack_width();

	if (!node->in)
		return;
	TYPED(n, "pool_back", packs, P(x->d), P(y->d), P(n->ops[i].taken), U(packs),
	      U(y->stored / pack_width()), W(window_of(node)), U(x->has_diff));
	x->has_diff = true;
}

void add_forward(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	const struct value *y = &n->values[i + 1];
	uint32_t packs = y->count / pack_width();

	TYPED(n, "add", packs, P(y->p), P(n->values[node->in].p), P(n->values[node->other].p),
	      U(packs), U(node->relu));
}

void add_back(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	const int inputs[] = {node->in, node->other};
	const struct value *y = &n->values[i + 1];
	uint32_t packs = y->count / pack_width();

	for (size_t k = 0; k < ARRAY_LEN(inputs); k++) {
		struct value *x = &n->values[inputs[k]];

		if (!inputs[k])
			continue;
		TYPED(n, "pass", packs, P(x->d), P(y->d), P(y->p), U(packs), U(node->relu),
		      U(x->has_diff));
		x->has_diff = true;
	}
}

void mean_forward(struct engine_net *n, int i)
{
	const struct value *x = &n->values[n->g->nodes[i].in], *y = &n->values[i + 1];

	TYPED(n, "mean", y->count, P(y->p), P(x->p), U(y->count), U(y->stored), U(x->area));
}

void mean_back(struct engine_net *n, int i)
{
	struct value *x = &n->values[n->g->nodes[i].in], *y = &n->values[i + 1];

	if (!n->g->nodes[i].in)
		return;
	TYPED(n, "mean_back", x->count, P(x->d), P(y->d), U(x->count), U(y->stored), U(x->area),
	      U(x->has_diff));
	x->has_diff = true;
}
