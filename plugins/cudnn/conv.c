/*
 * Convolutions, by cuDNN. Of its algorithms the first is taken that its heuristics
 * recommend, that always gives the same bits, and that needs no more memory than a
 * fixed size: measuring, or looking at what is free, would let the choice, and so the
 * last bits, differ from rank to rank. What it recommends it may refuse when it is asked
 * for it: then the next one, for every rank alike.
 */
#include "plugins/cudnn/parts.h"

#define SPACE_MOST ((size_t)1 << 30)
enum { ASKED = 16 };

bool dnn_ok(struct engine_net *n, cudnnStatus_t st, const char *what, int node)
{
	char words[256];

	if (st != CUDNN_STATUS_SUCCESS && is_well(n)) {
		gpu_look();
		err_set(&n->failure, ERR_SYS, "%s failed on %s at node %d: cuDNN says: %s", what,
			gpu.name, node, gpu_dnn_words(st, words, sizeof(words)));
		err_hint(&n->failure, "CUDNN_LOGLEVEL_DBG=2 ddpsmoke ... says more");
	}
	return is_well(n);
}

/* --- which algorithm --------------------------------------------------------------------- */

static cudnnMathType_t math(void)
{
	if (gpu_is_16())
		return CUDNN_TENSOR_OP_MATH;
	return gpu.tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

struct offer { /* of the three types that cuDNN has for it */
	int algorithm;
	cudnnStatus_t status;
	cudnnDeterminism_t determinism;
	cudnnMathType_t math;
	size_t bytes;
};

static bool is_usable(const struct offer *o)
{
	bool is_rounding =
		o->math == CUDNN_TENSOR_OP_MATH || o->math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;

	return o->status == CUDNN_STATUS_SUCCESS && o->determinism == CUDNN_DETERMINISTIC &&
	       o->bytes <= SPACE_MOST && (gpu_is_16() || gpu.tf32 || !is_rounding) &&
	       o->math != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
}

#define TAKE(ret, perf, count)                                                                     \
	for (int k_ = 0; k_ < (count); k_++)                                                       \
		(ret)[k_] = (struct offer)                                                         \
		{                                                                                  \
			(int)(perf)[k_].algo, (perf)[k_].status, (perf)[k_].determinism,           \
				(perf)[k_].mathType, (perf)[k_].memory                             \
		}

/* How many it has; where it fails there is still the one that it has for every shape. */
static int offers(const struct op *op, enum conv_pass p, const struct value *x,
		  const struct value *y, struct offer *ret)
{
	const cudnnConvolutionDescriptor_t d = op->conv[p].desc;
	cudnnConvolutionFwdAlgoPerf_t forward[ASKED];
	cudnnConvolutionBwdDataAlgoPerf_t data[ASKED];
	cudnnConvolutionBwdFilterAlgoPerf_t weights[ASKED];
	int n = 0;

	if (p == CONV_FORWARD) {
		(void)cudnnGetConvolutionForwardAlgorithm_v7(gpu.cudnn, x->desc, op->filter, d,
							     y->desc, ASKED, &n, forward);
		TAKE(ret, forward, n);
	} else if (p == CONV_DATA) {
		(void)cudnnGetConvolutionBackwardDataAlgorithm_v7(gpu.cudnn, op->filter, y->desc, d,
								  x->desc, ASKED, &n, data);
		TAKE(ret, data, n);
	} else {
		(void)cudnnGetConvolutionBackwardFilterAlgorithm_v7(gpu.cudnn, x->desc, y->desc, d,
								    op->filter, ASKED, &n, weights);
		TAKE(ret, weights, n);
	}
	return n;
}

static cudnnStatus_t space_of(const struct op *op, enum conv_pass p, const struct value *x,
			      const struct value *y, int algorithm, size_t *ret)
{
	const cudnnConvolutionDescriptor_t d = op->conv[p].desc;

	if (p == CONV_FORWARD)
		return cudnnGetConvolutionForwardWorkspaceSize(
			gpu.cudnn, x->desc, op->filter, d, y->desc,
			(cudnnConvolutionFwdAlgo_t)algorithm, ret);
	if (p == CONV_DATA)
		return cudnnGetConvolutionBackwardDataWorkspaceSize(
			gpu.cudnn, op->filter, y->desc, d, x->desc,
			(cudnnConvolutionBwdDataAlgo_t)algorithm, ret);
	return cudnnGetConvolutionBackwardFilterWorkspaceSize(
		gpu.cudnn, x->desc, y->desc, d, op->filter,
		(cudnnConvolutionBwdFilterAlgo_t)algorithm, ret);
}

static bool has_way(const struct conv *c, const struct conv_way *way)
{
	for (int k = 0; k < c->n; k++)
		if (c->ways[k].algorithm == way->algorithm && c->ways[k].math == way->math)
			return true;
	return false;
}

static cudnnStatus_t add_way(struct op *op, enum conv_pass p, const struct value *x,
			     const struct value *y, struct conv_way way)
{
	struct conv *c = &op->conv[p];
	cudnnStatus_t st;

	if (has_way(c, &way))
		return CUDNN_STATUS_SUCCESS;
	st = cudnnSetConvolutionMathType(c->desc, way.math);
	if (st == CUDNN_STATUS_SUCCESS)
		st = space_of(op, p, x, y, way.algorithm, &way.space);
	if (st == CUDNN_STATUS_SUCCESS && (!c->n || way.space <= SPACE_MOST))
		c->ways[c->n++] = way;
	return st;
}

static cudnnStatus_t take_way(struct conv *c, int at)
{
	c->at = at;
	return cudnnSetConvolutionMathType(c->desc, c->ways[at].math);
}

/*
 * Last is the one that cuDNN has for every shape. Float32 keeps the kind of product
 * that was set: FMA, or whatever is fast with TF32.
 */
static cudnnStatus_t choose(struct engine_net *n, struct op *op, enum conv_pass p,
			    const struct value *x, const struct value *y)
{
	static const int always[] = {[CONV_FORWARD] =
					     CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
				     [CONV_DATA] = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
				     [CONV_WEIGHTS] = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};
	struct conv *c = &op->conv[p];
	struct offer offered[ASKED];
	int count = offers(op, p, x, y, offered);
	cudnnStatus_t st;

	for (int k = 0; k < count && c->n < CONV_WAYS - 1; k++)
		if (is_usable(&offered[k]))
			(void)add_way(
				op, p, x, y,
				(struct conv_way){.algorithm = offered[k].algorithm,
						  .math = gpu_is_16() ? offered[k].math : math()});
	st = add_way(op, p, x, y, (struct conv_way){.algorithm = always[p], .math = math()});
	for (int k = 0; k < c->n; k++)
		if (c->ways[k].space > n->space_size)
			n->space_size = c->ways[k].space;
	return c->n ? take_way(c, 0) : st;
}

/* --- building ----------------------------------------------------------------------------- */

static cudnnDataType_t type(void)
{
	static const cudnnDataType_t types[] = {[ENGINE_FLOAT32] = CUDNN_DATA_FLOAT,
						[ENGINE_BF16] = CUDNN_DATA_BFLOAT16,
						[ENGINE_FP16] = CUDNN_DATA_HALF};

	return types[gpu.precision];
}

static cudnnTensorFormat_t format(void)
{
	return gpu_is_16() ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

static cudnnStatus_t describe(struct engine_net *n, struct value *v, int side)
{
	cudnnStatus_t st = CUDNN_STATUS_SUCCESS;

	if (!v->desc)
		st = cudnnCreateTensorDescriptor(&v->desc);
	if (st == CUDNN_STATUS_SUCCESS)
		st = cudnnSetTensor4dDescriptor(v->desc, format(), type(), n->batch, (int)v->stored,
						side, side);
	return st;
}

static cudnnStatus_t describe_conv(const struct graph_node *node, struct op *op)
{
	cudnnStatus_t st = CUDNN_STATUS_SUCCESS;

	for (int p = 0; p < CONV_PASSES && st == CUDNN_STATUS_SUCCESS; p++) {
		st = cudnnCreateConvolutionDescriptor(&op->conv[p].desc);
		if (st == CUDNN_STATUS_SUCCESS)
			st = cudnnSetConvolution2dDescriptor(
				op->conv[p].desc, node->pad, node->pad, node->stride, node->stride,
				1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
		if (st == CUDNN_STATUS_SUCCESS)
			st = cudnnSetConvolutionMathType(op->conv[p].desc, math());
	}
	return st;
}

int conv_build(struct engine_net *n, int i)
{
	const struct graph_node *node = &n->g->nodes[i];
	struct value *x = &n->values[node->in], *y = &n->values[i + 1];
	struct op *op = &n->ops[i];
	cudnnStatus_t st;

	libraries_load_compiler(&gpu.libs);
	st = describe(n, x, node->from_side);
	if (st == CUDNN_STATUS_SUCCESS)
		st = describe(n, y, node->side);
	if (st == CUDNN_STATUS_SUCCESS)
		st = cudnnCreateFilterDescriptor(&op->filter);
	if (st == CUDNN_STATUS_SUCCESS)
		st = cudnnSetFilter4dDescriptor(op->filter, type(), format(), (int)y->stored,
						(int)x->stored, node->k, node->k);
	if (st == CUDNN_STATUS_SUCCESS)
		st = describe_conv(node, op);
	if (st == CUDNN_STATUS_SUCCESS)
		st = choose(n, op, CONV_FORWARD, x, y);
	if (st == CUDNN_STATUS_SUCCESS)
		st = choose(n, op, CONV_WEIGHTS, x, y);
	if (st == CUDNN_STATUS_SUCCESS && node->in)
		st = choose(n, op, CONV_DATA, x, y);
	return dnn_ok(n, st, "choosing a convolution", i) ? 0 : -1;
}

void conv_drop(struct op *op)
{
	for (int p = 0; p < CONV_PASSES; p++)
		if (op->conv[p].desc)
			(void)cudnnDestroyConvolutionDescriptor(op->conv[p].desc);
	if (op->filter)
		(void)cudnnDestroyFilterDescriptor(op->filter);
}

/* --- running ------------------------------------------------------------------------------- */

static const float one = 1, none = 0;

struct operands { /* the weights, or where their gradient goes */
	const struct value *x, *y;
	const void *w;
	void *dw;
};

static cudnnStatus_t once(const struct engine_net *n, const struct op *op, enum conv_pass p,
			  const struct operands *o)
{
	const struct conv *c = &op->conv[p];
	const struct conv_way *way = &c->ways[c->at];
	const struct value *x = o->x, *y = o->y;

	if (p == CONV_FORWARD)
		return cudnnConvolutionForward(gpu.cudnn, &one, x->desc, x->p, op->filter, o->w,
					       c->desc, (cudnnConvolutionFwdAlgo_t)way->algorithm,
					       n->space, way->space, &none, y->desc, y->p);
	if (p == CONV_WEIGHTS)
		return cudnnConvolutionBackwardFilter(
			gpu.cudnn, &one, x->desc, x->p, y->desc, y->d, c->desc,
			(cudnnConvolutionBwdFilterAlgo_t)way->algorithm, n->space, way->space,
			&none, op->filter, o->dw);
	return cudnnConvolutionBackwardData(gpu.cudnn, &one, op->filter, o->w, y->desc, y->d,
					    c->desc, (cudnnConvolutionBwdDataAlgo_t)way->algorithm,
					    n->space, way->space, x->has_diff ? &one : &none,
					    x->desc, x->d);
}

/* It cannot be done so, here; what went wrong otherwise would go wrong in each way. */
static bool is_refusal(cudnnStatus_t st)
{
	return CUDNN_STATUS_CATEGORY(st) == CUDNN_STATUS_NOT_SUPPORTED ||
	       st == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
}

static void run(struct engine_net *n, int i, enum conv_pass p, const struct operands *o)
{
	struct op *op = &n->ops[i];
	struct conv *c = &op->conv[p];
	cudnnStatus_t st;

	if (!is_well(n))
		return;
	st = once(n, op, p, o);
	while (is_refusal(st) && c->at + 1 < c->n) {
		st = take_way(c, c->at + 1);
		if (st == CUDNN_STATUS_SUCCESS)
			st = once(n, op, p, o);
	}
	(void)dnn_ok(n, st, p == CONV_FORWARD ? "a convolution" : "a convolution's gradient", i);
}

void conv_forward(struct engine_net *n, int i, const float *params)
{
	const struct operands o = {.x = &n->values[n->g->nodes[i].in],
				   .y = &n->values[i + 1],
				   .w = weights_ready(n, i, params)};

	run(n, i, CONV_FORWARD, &o);
}

void conv_back(struct engine_net *n, int i, const float *params, float *grads)
{
	struct value *x = &n->values[n->g->nodes[i].in];
	const struct op *op = &n->ops[i];
	const struct operands o = {.x = x,
				   .y = &n->values[i + 1],
				   /* a 16 bit copy is still what forward made it */
				   .w = op->weights ? op->weights : params + n->g->nodes[i].first,
				   .dw = weights_grads(n, i, grads)};

	run(n, i, CONV_WEIGHTS, &o);
	weights_grads_done(n, i, grads);
	if (!n->g->nodes[i].in || !is_well(n))
		return;
	run(n, i, CONV_DATA, &o);
	x->has_diff = true;
}
