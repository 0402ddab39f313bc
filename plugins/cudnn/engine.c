/*
 * The plug-in cudnn.so: training on an NVIDIA GPU. Convolutions by cuDNN, products by
 * cuBLAS, the rest by kernels of its own; all of it on one stream, and nothing that
 * could be summed in two orders: the same run gives the same bits.
 */
#include "plugins/cudnn/parts.h"

/* --- forward ------------------------------------------------------------------------------ */

/* The caller's parameters as the GPU sees them. NULL: see failure. */
static const float *stage(struct engine_net *n, const float *params)
{
	if (device_has(params))
		return params;
	if (net_stage_params(n) ||
	    gpu_send(n->params, params, n->g->nparams * sizeof(float), &n->failure))
		return NULL;
	return n->params;
}

/*
 * The copy has a stream of its own, and nothing to wait for: who read this place last was the
 * step before the previous one, and the previous one's answers were waited for.
 */
static int send_pixels(struct engine_net *n, float *to)
{
	size_t pixels = (size_t)n->batch * (size_t)n->g->channels * n->values[0].area;
	CUresult r = cuMemcpyHtoDAsync(gpu_at(to), n->pixels, pixels * sizeof(float), gpu.copies);

	if (r == CUDA_SUCCESS)
		r = cuEventRecord(n->sent, gpu.copies);
	if (r == CUDA_SUCCESS)
		r = cuStreamWaitEvent(gpu.stream, n->sent, 0);
	return r == CUDA_SUCCESS ? 0 : gpu_failed("copying to the GPU", r, &n->failure);
}

static int send_input(struct engine_net *n, const float *stats)
{
	const struct graph *g = n->g;
	struct value *v = &n->values[0];
	float *to = n->arrives[n->turn];

	n->turn = !n->turn;
	memcpy(n->stats_here, stats, g->nstats * sizeof(float));
	if (send_pixels(n, to) ||
	    gpu_send(n->stats, n->stats_here, g->nstats * sizeof(float), &n->failure))
		return -1;
	if (gpu_is_16())
		TYPED(n, "pack_input", v->count, P(v->p), P(to), U(v->count), U(v->area),
		      U(g->channels), U(v->stored), F(1));
	else
		v->p = to;
	return 0;
}

static void forward_node(struct engine_net *n, int i, const float *params, bool is_training)
{
	const struct graph_node *node = &n->g->nodes[i];

	switch (node->op) {
	case GRAPH_CONV:
		conv_forward(n, i, params);
		if (node->bias)
			bias_forward(n, i, params);
		break;
	case GRAPH_DENSE:
		dense_forward(n, i, params);
		bias_forward(n, i, params);
		break;
	case GRAPH_NORM:
		norm_forward(n, i, params, is_training);
		break;
	case GRAPH_MAXPOOL:
		pool_forward(n, i);
		break;
	case GRAPH_ADD:
		add_forward(n, i);
		break;
	case GRAPH_MEAN:
		mean_forward(n, i);
	}
}

static int fetch_answers(struct engine_net *n, float *stats, bool is_training)
{
	const struct graph *g = n->g;
	const struct value *v = &n->values[g->n];
	size_t classes = (size_t)g->classes, nstats = is_training ? g->nstats : 0;

	if (gpu_fetch(n->answers_here, v->p, v->count * sizeof(float), gpu.stream, &n->failure) ||
	    gpu_fetch(n->stats_here, n->stats, nstats * sizeof(float), gpu.stream, &n->failure) ||
	    gpu_wait(gpu.stream, NULL, "a forward pass", &n->failure))
		return -1;
	memcpy(stats, n->stats_here, nstats * sizeof(float));
	for (size_t i = 0; i < (size_t)n->batch; i++)
		memcpy(n->answers + i * classes, n->answers_here + i * v->stored,
		       classes * sizeof(float));
	return 0;
}

static const float *forward(struct engine_net *n, const float *params, float *stats,
			    bool is_training)
{
	const float *there;

	if (!is_well(n) || gpu_current(&n->failure))
		return n->answers;
	there = stage(n, params);
	if (!there || send_input(n, stats))
		return n->answers;
	for (int i = 0; i < n->g->n && is_well(n); i++)
		forward_node(n, i, there, is_training);
	if (is_well(n))
		(void)fetch_answers(n, stats, is_training);
	return n->answers;
}

/* --- backward ----------------------------------------------------------------------------- */

static int send_dout(struct engine_net *n, const float *dout)
{
	const struct value *v = &n->values[n->g->n];
	size_t bytes = (size_t)n->batch * (size_t)n->g->classes * sizeof(float);

	memcpy(n->dout_here, dout, bytes);
	if (gpu_send(n->dout, n->dout_here, bytes, &n->failure))
		return -1;
	TYPED(n, "pack_input", v->count, P(v->d), P(n->dout), U(v->count), U(1), U(n->g->classes),
	      U(v->stored), F(gpu.scale));
	return 0;
}

static void backward_node(struct engine_net *n, int i, const float *params, float *grads)
{
	const struct graph_node *node = &n->g->nodes[i];

	switch (node->op) {
	case GRAPH_CONV:
		if (node->bias)
			bias_back(n, i, grads);
		conv_back(n, i, params, grads);
		break;
	case GRAPH_DENSE:
		bias_back(n, i, grads);
		dense_back(n, i, params, grads);
		break;
	case GRAPH_NORM:
		norm_back(n, i, params, grads);
		break;
	case GRAPH_MAXPOOL:
		pool_back(n, i);
		break;
	case GRAPH_ADD:
		add_back(n, i);
		break;
	case GRAPH_MEAN:
		mean_back(n, i);
	}
}

/* A node's gradients leave for the host while the next node's are computed. */
static int fetch_grads(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct op *op = &n->ops[i];
	CUresult r = cuEventRecord(op->ready, gpu.stream);

	if (r == CUDA_SUCCESS)
		r = cuStreamWaitEvent(gpu.copies, op->ready, 0);
	if (r == CUDA_SUCCESS)
		r = cuMemcpyDtoHAsync(n->grads_here + node->first, gpu_at(n->grads + node->first),
				      node->nparams * sizeof(float), gpu.copies);
	if (r == CUDA_SUCCESS)
		r = cuEventRecord(op->arrived, gpu.copies);
	return r == CUDA_SUCCESS ? 0 : gpu_failed("fetching gradients", r, &n->failure);
}

static int arrive(struct engine_net *n, int i, float *grads)
{
	const struct graph_node *node = &n->g->nodes[i];

	if (!node->nparams)
		return 0;
	if (gpu_wait(gpu.copies, n->ops[i].arrived, "a backward pass", &n->failure))
		return -1;
	memcpy(grads + node->first, n->grads_here + node->first, node->nparams * sizeof(float));
	return 0;
}

static int backward(struct engine_net *n, const float *params, const float *dout, float *grads,
		    int (*done)(void *arg, int node), void *arg)
{
	const float *w = device_has(params) ? params : n->params; /* forward sent them */
	bool stays = device_has(grads);
	int i;

	if (!is_well(n) || gpu_current(&n->failure) || (!stays && net_stage_grads(n)) ||
	    send_dout(n, dout))
		return 0; /* failure() has it */
	for (i = 0; i < n->g->n; i++)
		n->values[i].has_diff = false;
	for (i = n->g->n - 1; i >= 0 && is_well(n); i--) {
		backward_node(n, i, w, stays ? grads : n->grads);
		if (stays && is_well(n) && done(arg, i))
			return -1;
		if (!stays && is_well(n) && n->g->nodes[i].nparams)
			(void)fetch_grads(n, i);
	}
	for (i = n->g->n - 1; i >= 0 && !stays && is_well(n); i--)
		if (!arrive(n, i, grads) && done(arg, i))
			return -1;
	return 0;
}

/* --- the rest ------------------------------------------------------------------------------- */

static float *input(struct engine_net *n) { return n->pixels; }

/* They are in PyTorch's already. */
static int convert(struct engine_net *n, const float *from, float *to, bool to_plain UNUSED)
{
	memcpy(to, from, n->g->nparams * sizeof(float));
	return 0;
}

static const char *failure(const struct engine_net *n)
{
	return is_well(n) ? NULL : n->failure.msg;
}

static struct engine_net *create(const struct graph *g, int batch, struct err *e)
{
	return gpu_current(e) ? NULL : net_create(g, batch, e);
}

extern const struct engine windsock_engine __attribute__((visibility("default")));
const struct engine windsock_engine = {
	.version = ENGINE_VERSION,
	.name = "cudnn",
	.create = create,
	.destroy = net_destroy,
	.input = input,
	.convert = convert,
	.forward = forward,
	.backward = backward,
	.failure = failure,
	.device = &engine_device_cuda,
};
