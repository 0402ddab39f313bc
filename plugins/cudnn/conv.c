/*
 * Convolutions, by cuDNN. Of its algorithms the first is taken that its heuristics
 * recommend, that always gives the same bits, and that needs no more memory than a
 * fixed size: measuring, or looking at what is free, would let the choice, and so the
 * last bits, differ from rank to rank.
 */
#include "plugins/cudnn/parts.h"

#define SPACE_MOST ((size_t)1 << 30)
enum { ASKED = 16 };

bool dnn_ok(struct engine_net *n, cudnnStatus_t st, const char *what, int node)
{
	char words[256];

	if (st != CUDNN_STATUS_SUCCESS && is_well(n)) {
		err_set(&n->failure, ERR_SYS, "%s failed on %s at node %d: cuDNN says: %s", what,
			gpu.name, node, gpu_dnn_words(st, words, sizeof(words)));
		err_hint(&n->failure, "CUDNN_LOGLEVEL_DBG=2 ddpsmoke ... says more");
	}
	return is_well(n);
}

/* --- which algorithm --------------------------------------------------------------------- */

static bool is_usable(cudnnStatus_t st, cudnnDeterminism_t d, cudnnMathType_t math, size_t bytes)
{
	bool is_rounding =
		math == CUDNN_TENSOR_OP_MATH || math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;

	return st == CUDNN_STATUS_SUCCESS && d == CUDNN_DETERMINISTIC && bytes <= SPACE_MOST &&
	       (gpu_is_16() || gpu.tf32 || !is_rounding) &&
	       math != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
}

/*
 * @fallback is the one that cuDNN has for every shape. Float32 keeps the kind of product
 * that was set: FMA, or whatever is fast with TF32.
 */
#define CHOOSE(perf, count, fallback, op, pass)                                                    \
	do {                                                                                       \
		(op)->algorithm[pass] = (int)(fallback);                                           \
		for (int at = 0; at < (count); at++)                                               \
			if (is_usable((perf)[at].status, (perf)[at].determinism,                   \
				      (perf)[at].mathType, (perf)[at].memory)) {                   \
				(op)->algorithm[pass] = (int)(perf)[at].algo;                      \
				if (gpu_is_16())                                                   \
					(void)cudnnSetConvolutionMathType((op)->conv[pass],        \
									  (perf)[at].mathType);    \
				break;                                                             \
			}                                                                          \
	} while (0)

static cudnnStatus_t choose_forward(struct op *op, const struct value *x, const struct value *y)
{
	cudnnConvolutionFwdAlgoPerf_t perf[ASKED];
	int found = 0;

	(void)cudnnGetConvolutionForwardAlgorithm_v7(gpu.cudnn, x->desc, op->filter,
						     op->conv[CONV_FORWARD], y->desc, ASKED, &found,
						     perf);
	CHOOSE(perf, found, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, op, CONV_FORWARD);
	return cudnnGetConvolutionForwardWorkspaceSize(
		gpu.cudnn, x->desc, op->filter, op->conv[CONV_FORWARD], y->desc,
		(cudnnConvolutionFwdAlgo_t)op->algorithm[CONV_FORWARD], &op->space[CONV_FORWARD]);
}

static cudnnStatus_t choose_data(struct op *op, const struct value *x, const struct value *y)
{
	cudnnConvolutionBwdDataAlgoPerf_t perf[ASKED];
	int found = 0;

	(void)cudnnGetConvolutionBackwardDataAlgorithm_v7(
		gpu.cudnn, op->filter, y->desc, op->conv[CONV_DATA], x->desc, ASKED, &found, perf);
	CHOOSE(perf, found, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, op, CONV_DATA);
	return cudnnGetConvolutionBackwardDataWorkspaceSize(
		gpu.cudnn, op->filter, y->desc, op->conv[CONV_DATA], x->desc,
		(cudnnConvolutionBwdDataAlgo_t)op->algorithm[CONV_DATA], &op->space[CONV_DATA]);
}

static cudnnStatus_t choose_weights(struct op *op, const struct value *x, const struct value *y)
{
	cudnnConvolutionBwdFilterAlgoPerf_t perf[ASKED];
	int found = 0;

	(void)cudnnGetConvolutionBackwardFilterAlgorithm_v7(gpu.cudnn, x->desc, y->desc,
							    op->conv[CONV_WEIGHTS], op->filter,
							    ASKED, &found, perf);
	CHOOSE(perf, found, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, op, CONV_WEIGHTS);
	return cudnnGetConvolutionBackwardFilterWorkspaceSize(
		gpu.cudnn, x->desc, y->desc, op->conv[CONV_WEIGHTS], op->filter,
		(cudnnConvolutionBwdFilterAlgo_t)op->algorithm[CONV_WEIGHTS],
		&op->space[CONV_WEIGHTS]);
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

static cudnnMathType_t math(void)
{
	if (gpu_is_16())
		return CUDNN_TENSOR_OP_MATH;
	return gpu.tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
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
		st = cudnnCreateConvolutionDescriptor(&op->conv[p]);
		if (st == CUDNN_STATUS_SUCCESS)
			st = cudnnSetConvolution2dDescriptor(
				op->conv[p], node->pad, node->pad, node->stride, node->stride, 1, 1,
				CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
		if (st == CUDNN_STATUS_SUCCESS)
			st = cudnnSetConvolutionMathType(op->conv[p], math());
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
		st = choose_forward(op, x, y);
	if (st == CUDNN_STATUS_SUCCESS)
		st = choose_weights(op, x, y);
	if (st == CUDNN_STATUS_SUCCESS && node->in)
		st = choose_data(op, x, y);
	for (int p = 0; p < CONV_PASSES; p++)
		n->space_size = op->space[p] > n->space_size ? op->space[p] : n->space_size;
	return dnn_ok(n, st, "choosing a convolution", i) ? 0 : -1;
}

void conv_drop(struct op *op)
{
	for (int p = 0; p < CONV_PASSES; p++)
		if (op->conv[p])
			(void)cudnnDestroyConvolutionDescriptor(op->conv[p]);
	if (op->filter)
		(void)cudnnDestroyFilterDescriptor(op->filter);
}

/* --- running ------------------------------------------------------------------------------- */

static const float one = 1, none = 0;

void conv_forward(struct engine_net *n, int i, const float *params)
{
	const struct value *x = &n->values[n->g->nodes[i].in], *y = &n->values[i + 1];
	const struct op *op = &n->ops[i];
	const void *w = weights_ready(n, i, params);

	if (is_well(n))
		(void)dnn_ok(n,
			     cudnnConvolutionForward(
				     gpu.cudnn, &one, x->desc, x->p, op->filter, w,
				     op->conv[CONV_FORWARD],
				     (cudnnConvolutionFwdAlgo_t)op->algorithm[CONV_FORWARD],
				     n->space, op->space[CONV_FORWARD], &none, y->desc, y->p),
			     "a convolution", i);
}

void conv_back(struct engine_net *n, int i, const float *params, float *grads)
{
	struct value *x = &n->values[n->g->nodes[i].in], *y = &n->values[i + 1];
	const struct op *op = &n->ops[i];
	/* a 16 bit copy is still what forward made it */
	const void *w = op->weights ? op->weights : params + n->g->nodes[i].first;

	if (is_well(n))
		(void)dnn_ok(n,
			     cudnnConvolutionBackwardFilter(
				     gpu.cudnn, &one, x->desc, x->p, y->desc, y->d,
				     op->conv[CONV_WEIGHTS],
				     (cudnnConvolutionBwdFilterAlgo_t)op->algorithm[CONV_WEIGHTS],
				     n->space, op->space[CONV_WEIGHTS], &none, op->filter,
				     weights_grads(n, i, grads)),
			     "a convolution's gradient", i);
	weights_grads_done(n, i, grads);
	if (!n->g->nodes[i].in || !is_well(n))
		return;
	(void)dnn_ok(n,
		     cudnnConvolutionBackwardData(
			     gpu.cudnn, &one, op->filter, w, y->desc, y->d, op->conv[CONV_DATA],
			     (cudnnConvolutionBwdDataAlgo_t)op->algorithm[CONV_DATA], n->space,
			     op->space[CONV_DATA], x->has_diff ? &one : &none, x->desc, x->d),
		     "a convolution's gradient", i);
	x->has_diff = true;
}
