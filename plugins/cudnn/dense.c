/*
 * Products, by cuBLAS, and what follows a product or a convolution. cuBLAS counts
 * columns first: what is [sample][feature] here is a matrix of features x samples there,
 * and weights [out][in] are in x out.
 */
#include "plugins/cudnn/parts.h"

bool blas_ok(struct engine_net *n, cublasStatus_t st, int node)
{
	if (st != CUBLAS_STATUS_SUCCESS && is_well(n)) {
		gpu_look();
		err_set(&n->failure, ERR_SYS, "a product failed on %s at node %d: cuBLAS says: %s",
			gpu.name, node, cublasGetStatusString(st));
		err_hint(&n->failure, "CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=stderr ddpsmoke ... "
				      "says more");
	}
	return is_well(n);
}

static cudaDataType type(void)
{
	static const cudaDataType types[] = {[ENGINE_FLOAT32] = CUDA_R_32F,
					     [ENGINE_BF16] = CUDA_R_16BF,
					     [ENGINE_FP16] = CUDA_R_16F};

	return types[gpu.precision];
}

struct sizes { /* of a product's three */
	int in, out, batch;
};
static struct sizes sizes_of(const struct engine_net *n, int i)
{
	const struct value *x = &n->values[n->g->nodes[i].in];

	return (struct sizes){(int)(x->area * x->stored), (int)n->values[i + 1].stored, n->batch};
}

static cublasComputeType_t compute(void)
{
	return gpu.tf32 && !gpu_is_16() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

static const float one = 1, none = 0;

void dense_forward(struct engine_net *n, int i, const float *params)
{
	const struct value *x = &n->values[n->g->nodes[i].in], *y = &n->values[i + 1];
	const struct sizes s = sizes_of(n, i);
	const void *w = weights_ready(n, i, params);

	if (is_well(n))
		(void)blas_ok(n,
			      cublasGemmEx(gpu.cublas, CUBLAS_OP_T, CUBLAS_OP_N, s.out, s.batch,
					   s.in, &one, w, type(), s.in, x->p, type(), s.in, &none,
					   y->p, i == n->g->n - 1 ? CUDA_R_32F : type(), s.out,
					   compute(), CUBLAS_GEMM_DEFAULT),
			      i);
}

void dense_back(struct engine_net *n, int i, const float *params, float *grads)
{
	struct value *x = &n->values[n->g->nodes[i].in], *y = &n->values[i + 1];
	const struct op *op = &n->ops[i];
	const void *w = op->weights ? op->weights : params + n->g->nodes[i].first;
	const struct sizes s = sizes_of(n, i);

	if (is_well(n))
		(void)blas_ok(n,
			      cublasGemmEx(gpu.cublas, CUBLAS_OP_N, CUBLAS_OP_T, s.in, s.out,
					   s.batch, &one, x->p, type(), s.in, y->d, type(), s.out,
					   &none, weights_grads(n, i, grads), type(), s.in,
					   compute(), CUBLAS_GEMM_DEFAULT),
			      i);
	weights_grads_done(n, i, grads);
	if (!n->g->nodes[i].in || !is_well(n))
		return;
	(void)blas_ok(n,
		      cublasGemmEx(gpu.cublas, CUBLAS_OP_N, CUBLAS_OP_N, s.in, s.batch, s.out, &one,
				   w, type(), s.in, y->d, type(), s.out, x->has_diff ? &one : &none,
				   x->d, type(), s.in, compute(), CUBLAS_GEMM_DEFAULT),
		      i);
	x->has_diff = true;
}

/* --- bias and ReLU ------------------------------------------------------------------------ */

static size_t bias_at(const struct graph_node *node)
{
	return node->first + node->nparams - (size_t)node->channels;
}

void bias_forward(struct engine_net *n, int i, const float *params)
{
	const struct graph_node *node = &n->g->nodes[i];
	const struct value *y = &n->values[i + 1];
	const struct arg args[] = {P(y->p),	 P(params + bias_at(node)), U(y->count),
				   U(inner(y)),	 U(node->channels),	    U(y->stored),
				   U(node->relu)};

	if (i == n->g->n - 1) /* the last values are float32 */
		launch_plain(n, "bias_f32", y->count, args, ARRAY_LEN(args));
	else
		launch_typed(n, "bias", y->count, args, ARRAY_LEN(args));
}

void bias_back(struct engine_net *n, int i, float *grads)
{
	const struct graph_node *node = &n->g->nodes[i];
	const struct value *y = &n->values[i + 1];
	uint32_t parts = norm_parts(y), packs = y->count / pack_width();
	const float *sums;

	if (node->relu)
		TYPED(n, "pass", packs, P(y->d), P(y->d), P(y->p), U(packs), U(1), U(0));
	TYPED(n, "back_sums", y->stored / pack_width() * parts, P(n->sums[0]), P(y->d), P(y->p),
	      P(NULL), P(NULL), P(NULL), U(y->count / y->stored), U(y->area), U(y->stored),
	      U(parts), U(0));
	parts = norm_sum_up(n, parts, y->stored, &sums);
	PLAIN(n, "bias_grads", (uint32_t)node->channels, P(grads + bias_at(node)), P(sums),
	      U(node->channels), U(y->stored), U(parts), F(1 / gpu.scale));
}
