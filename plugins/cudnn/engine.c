/*
 * The plug-in cudnn.so: training on an NVIDIA GPU. Convolutions by cuDNN, products by
 * cuBLAS, the rest by kernels of its own; all of it on one stream, and nothing that
 * could be summed in two orders: the same run gives the same bits.
 */
#include "plugins/cudnn/parts.h"

enum { PIECES = 16 };
static struct piece {
	float *p;
	size_t n;
	bool is_ours;
} pieces[PIECES]; /* what alloc() gave, and what was adopted */

static bool is_there(const float *p)
{
	for (size_t i = 0; i < PIECES; i++)
		if (pieces[i].p && p >= pieces[i].p && p < pieces[i].p + pieces[i].n)
			return true;
	return false;
}

static int send(void *to, const void *from, size_t bytes, struct err *e)
{
	CUresult r = bytes ? cuMemcpyHtoDAsync(gpu_at(to), from, bytes, gpu.stream) : CUDA_SUCCESS;

	return r == CUDA_SUCCESS ? 0 : gpu_failed("copying to the GPU", r, e);
}

static int fetch(void *to, const void *from, size_t bytes, CUstream s, struct err *e)
{
	CUresult r = bytes ? cuMemcpyDtoHAsync(to, gpu_at(from), bytes, s) : CUDA_SUCCESS;

	return r == CUDA_SUCCESS ? 0 : gpu_failed("copying from the GPU", r, e);
}

/* --- forward ------------------------------------------------------------------------------ */

/* The caller's parameters as the GPU sees them. NULL: see failure. */
static const float *stage(struct engine_net *n, const float *params)
{
	if (is_there(params))
		return params;
	if (net_stage_params(n) ||
	    send(n->params, params, n->g->nparams * sizeof(float), &n->failure))
		return NULL;
	return n->params;
}

static int send_input(struct engine_net *n, const float *stats)
{
	const struct graph *g = n->g;
	struct value *v = &n->values[0];
	size_t pixels = (size_t)n->batch * (size_t)g->channels * v->area;
	void *to = gpu_is_16() ? (void *)n->pixels_there : v->p;

	memcpy(n->stats_here, stats, g->nstats * sizeof(float));
	if (send(n->stats, n->stats_here, g->nstats * sizeof(float), &n->failure) ||
	    send(to, n->pixels, pixels * sizeof(float), &n->failure))
		return -1;
	if (gpu_is_16())
		TYPED(n, "pack_input", v->count, P(v->p), P(n->pixels_there), U(v->count),
		      U(v->area), U(g->channels), U(v->stored), F(1));
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

	if (fetch(n->answers_here, v->p, v->count * sizeof(float), gpu.stream, &n->failure) ||
	    fetch(n->stats_here, n->stats, nstats * sizeof(float), gpu.stream, &n->failure) ||
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
	if (send(n->dout, n->dout_here, bytes, &n->failure))
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
	const float *w = is_there(params) ? params : n->params; /* forward sent them */
	bool stays = is_there(grads);
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

static int find(struct err *e) { return libraries_load(&gpu.libs, e); }

static int adopt(float *p, size_t floats, struct err *e)
{
	for (size_t i = 0; i < PIECES; i++)
		if (!pieces[i].p) {
			pieces[i] = (struct piece){.p = p, .n = floats};
			return 0;
		}
	return err_set(e, ERR_SYS, "more than %d arrays on a GPU", PIECES);
}

static int device_alloc(size_t floats, float **ret, struct err *e)
{
	void *p;

	if (gpu_current(e) || gpu_alloc(floats * sizeof(float), &p, e))
		return -1;
	if (adopt(p, floats, e)) {
		gpu_free(p);
		return -1;
	}
	for (size_t i = 0; i < PIECES; i++)
		pieces[i].is_ours |= pieces[i].p == p;
	*ret = p;
	return 0;
}

static void device_free(float *p)
{
	for (size_t i = 0; i < PIECES && p; i++)
		if (pieces[i].p == p) {
			if (pieces[i].is_ours)
				gpu_free(p);
			pieces[i] = (struct piece){0};
		}
}

static int put(float *to, const float *from, size_t n, struct err *e)
{
	return gpu_current(e) || send(to, from, n * sizeof(float), e) ||
			       gpu_wait(gpu.stream, NULL, "sending parameters", e)
		       ? -1
		       : 0;
}

static int get(float *to, const float *from, size_t n, struct err *e)
{
	return gpu_current(e) || gpu_wait(gpu.stream, NULL, "the work so far", e) ||
			       fetch(to, from, n * sizeof(float), gpu.stream, e) ||
			       gpu_wait(gpu.stream, NULL, "fetching parameters", e)
		       ? -1
		       : 0;
}

static int order(CUstream first, CUstream then, struct err *e)
{
	CUresult r;

	if (gpu_current(e))
		return -1;
	r = cuEventRecord(gpu.mark, first);
	if (r == CUDA_SUCCESS)
		r = cuStreamWaitEvent(then, gpu.mark, 0);
	return r == CUDA_SUCCESS ? 0 : gpu_failed("ordering two streams", r, e);
}

static int before(void *stream, struct err *e) { return order(gpu.stream, stream, e); }
static int after(void *stream, struct err *e) { return order(stream, gpu.stream, e); }

static int sgd(size_t n, float *p, float *v, const float *g, float lr, float momentum, float decay,
	       struct err *e)
{
	uint32_t count = (uint32_t)n;

	return gpu_current(e) ? -1
			      : gpu_launch(e, "sgd", count,
					   GPU_ARGS(&p, &v, &g, &count, &lr, &momentum, &decay));
}

static int watch(const float *p, size_t n, struct err *e)
{
	uint32_t count = (uint32_t)n;

	return gpu_current(e)
		       ? -1
		       : gpu_launch(e, "find_strange", count, GPU_ARGS(&gpu.found, &p, &count));
}

static int is_finite(bool *ret, struct err *e)
{
	uint32_t found = 0;
	CUresult r;

	if (gpu_current(e) || gpu_wait(gpu.stream, NULL, "looking for infinite gradients", e) ||
	    fetch(&found, (void *)(uintptr_t)gpu.found, sizeof(found), gpu.stream, e) ||
	    gpu_wait(gpu.stream, NULL, "looking for infinite gradients", e))
		return -1;
	r = cuMemsetD8Async(gpu.found, 0, sizeof(found), gpu.stream);
	*ret = !found;
	return r == CUDA_SUCCESS ? 0 : gpu_failed("cuMemsetD8", r, e);
}

static bool is_scaled(void) { return gpu.precision == ENGINE_FP16; }
static void set_scale(float scale) { gpu.scale = scale; }

static const struct engine_device device = {
	.find = find,
	.open = gpu_open,
	.alloc = device_alloc,
	.free = device_free,
	.adopt = adopt,
	.put = put,
	.get = get,
	.before = before,
	.after = after,
	.sgd = sgd,
	.watch = watch,
	.is_finite = is_finite,
	.is_scaled = is_scaled,
	.set_scale = set_scale,
};

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
	.device = &device,
};
