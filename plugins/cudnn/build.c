/* A network's memory and descriptors. */
#include "plugins/cudnn/parts.h"

static int refuse(struct engine_net *n, int node, const char *what)
{
	err_set(&n->failure, ERR_ABSENT, "this engine cannot train node %d of the network: %s",
		node, what);
	return err_hint(&n->failure, "--device cpu");
}

static int check(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];

	if (i == n->g->n - 1 && (node->op != GRAPH_DENSE || node->relu))
		return refuse(n, i, "the last one has to be a plain product");
	if (node->op == GRAPH_NORM && n->values[i + 1].stored != (uint32_t)node->channels)
		return refuse(n, i, "16 bit types need its channels to be a multiple of 8");
	if (node->op == GRAPH_MAXPOOL && node->k * node->k > 254)
		return refuse(n, i, "its windows are too large");
	return 0;
}

static int build_value(struct engine_net *n, int which, int channels, int side)
{
	struct value *v = &n->values[which];
	bool is_last = which == n->g->n;
	uint64_t count;

	v->stored = gpu_is_16() ? ((uint32_t)channels + 7) / 8 * 8 : (uint32_t)channels;
	v->area = (uint32_t)(side * side);
	count = (uint64_t)n->batch * v->stored * v->area;
	if (count >= INT32_MAX)
		return refuse(n, which - 1, "it makes 2^31 numbers or more: a smaller --batch");
	v->count = (uint32_t)count;
	if (!which && !gpu_is_16())
		return 0; /* it is where it arrives */
	if (gpu_alloc(count * (is_last ? sizeof(float) : gpu_type_size()), &v->p, &n->failure))
		return -1;
	return which ? gpu_alloc(count * gpu_type_size(), &v->d, &n->failure) : 0;
}

static int build_norm(struct engine_net *n, struct op *op, const struct value *v)
{
	void *p;

	/* mean, 1/deviation, and two more for the way back */
	if (gpu_alloc(4 * v->stored * sizeof(float), &p, &n->failure))
		return -1;
	op->mean = p;
	op->inverse = op->mean + v->stored;
	return 0;
}

static int build_events(struct engine_net *n, struct op *op)
{
	CUresult r = cuEventCreate(&op->ready, CU_EVENT_DISABLE_TIMING);

	if (r == CUDA_SUCCESS)
		r = cuEventCreate(&op->arrived, CU_EVENT_DISABLE_TIMING);
	return r == CUDA_SUCCESS ? 0 : gpu_failed("cuEventCreate", r, &n->failure);
}

static int build_op(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];
	void *p = NULL;

	if (check(n, i) || (node->nparams && build_events(n, op)))
		return -1;
	switch (node->op) {
	case GRAPH_CONV:
		return weights_build(n, i) || conv_build(n, i) ? -1 : 0;
	case GRAPH_DENSE:
		return weights_build(n, i);
	case GRAPH_NORM:
		return build_norm(n, op, &n->values[i + 1]);
	case GRAPH_MAXPOOL:
		if (gpu_alloc(n->values[i + 1].count, &p, &n->failure))
			return -1;
		op->taken = p;
		return 0;
	default:
		return 0;
	}
}

static int floats(struct engine_net *n, size_t count, float **there, float **here)
{
	void *p;

	if (there) {
		if (gpu_alloc(count * sizeof(float), &p, &n->failure))
			return -1;
		*there = p;
	}
	if (here) {
		if (gpu_alloc_host(count * sizeof(float), &p, &n->failure))
			return -1;
		*here = p;
	}
	return 0;
}

static int build_edges(struct engine_net *n)
{
	const struct graph *g = n->g;
	size_t batch = (size_t)n->batch, answers = batch * (size_t)g->classes;
	size_t pixels = batch * (size_t)(g->channels * g->side * g->side);

	CUresult r = cuEventCreate(&n->sent, CU_EVENT_DISABLE_TIMING);

	if (r != CUDA_SUCCESS)
		return gpu_failed("cuEventCreate", r, &n->failure);
	n->answers = calloc(answers, sizeof(float));
	if (!n->answers)
		return err_set(&n->failure, ERR_SYS, "no memory for %d samples", n->batch);
	return floats(n, pixels, &n->arrives[0], &n->pixels) ||
			       floats(n, pixels, &n->arrives[1], NULL) ||
			       floats(n, g->nstats, &n->stats, &n->stats_here) ||
			       floats(n, n->values[g->n].count, NULL, &n->answers_here) ||
			       floats(n, answers, &n->dout, &n->dout_here)
		       ? -1
		       : 0;
}

static int build(struct engine_net *n)
{
	const struct graph *g = n->g;
	size_t room = 0;

	if (build_value(n, 0, g->channels, g->side))
		return -1;
	for (int i = 0; i < g->n; i++) {
		size_t needs;

		if (build_value(n, i + 1, g->nodes[i].channels, g->nodes[i].side))
			return -1;
		needs = norm_room(&n->values[i + 1]);
		room = needs > room ? needs : room;
	}
	for (int i = 0; i < g->n; i++)
		if (build_op(n, i))
			return -1;
	for (int k = 0; k < 2; k++)
		if (floats(n, room, &n->sums[k], NULL))
			return -1;
	if (gpu_alloc(n->space_size, &n->space, &n->failure) || build_edges(n))
		return -1;
	return gpu_wait(gpu.stream, NULL, "clearing a network's memory", &n->failure);
}

struct engine_net *net_create(const struct graph *g, int batch, struct err *e)
{
	struct engine_net *n = calloc(1, sizeof(*n));

	if (!n) {
		err_set(e, ERR_SYS, "no memory for a network");
		return NULL;
	}
	n->g = g;
	n->batch = batch;
	if (!build(n))
		return n;
	*e = n->failure;
	net_destroy(n);
	return NULL;
}

int net_stage_params(struct engine_net *n)
{
	return n->params ? 0 : floats(n, n->g->nparams, &n->params, NULL);
}

int net_stage_grads(struct engine_net *n)
{
	return n->grads ? 0 : floats(n, n->g->nparams, &n->grads, &n->grads_here);
}

static void drop_op(struct op *op)
{
	conv_drop(op);
	gpu_free(op->weights);
	gpu_free(op->dweights);
	gpu_free(op->mean); /* inverse lies in it */
	gpu_free(op->taken);
	if (op->ready)
		(void)cuEventDestroy(op->ready);
	if (op->arrived)
		(void)cuEventDestroy(op->arrived);
}

void net_destroy(struct engine_net *n)
{
	struct err unused = {0};

	if (!n || gpu_current(&unused))
		return;
	(void)gpu_wait(gpu.stream, NULL, "the last work", &unused);
	for (int i = 0; i < n->g->n; i++)
		drop_op(&n->ops[i]);
	(void)gpu_wait(gpu.copies, NULL, "the last copies", &unused);
	if (!gpu_is_16())
		n->values[0].p = NULL; /* one of those that it arrived at */
	for (int i = 0; i <= n->g->n; i++) {
		gpu_free(n->values[i].p);
		gpu_free(n->values[i].d);
		if (n->values[i].desc)
			(void)cudnnDestroyTensorDescriptor(n->values[i].desc);
	}
	for (int k = 0; k < 2; k++)
		gpu_free(n->sums[k]);
	gpu_free(n->space);
	for (int k = 0; k < 2; k++)
		gpu_free(n->arrives[k]);
	if (n->sent)
		(void)cuEventDestroy(n->sent);
	gpu_free(n->stats);
	gpu_free(n->dout);
	gpu_free(n->params);
	gpu_free(n->grads);
	gpu_free_host(n->pixels);
	gpu_free_host(n->stats_here);
	gpu_free_host(n->answers_here);
	gpu_free_host(n->dout_here);
	gpu_free_host(n->grads_here);
	free(n->answers);
	free(n);
}
