/*
 * A stand-in for cuBLAS: plain loops, and a look at every argument. No result of it is
 * ever a measurement.
 *
 *	WINDSOCK_FAKE_CUBLAS=fail    products fail
 *	                     start   it does not start
 *	                     halves  nor where its other half, libcublasLt, is from elsewhere
 */
#include "tests/fake/tensors.h"

#include <cublas_api.h>

#include <cstdlib>
#include <cstring>
#include <string>

#define OUT extern "C" __attribute__((visibility("default")))

struct cublasContext {
	CUstream stream;
	bool is_alone, has_space; /* without atomics, and in memory of its own */
};

static bool mode(const char *name)
{
	static const char *const set = getenv("WINDSOCK_FAKE_CUBLAS");

	return set && strcmp(set, name) == 0;
}

static std::string folder_of(const void *p)
{
	Dl_info where;
	std::string path = p && dladdr(p, &where) ? where.dli_fname : "";

	return path.substr(0, path.rfind('/'));
}
static bool is_whole()
{
	static const char here = 0;

	return !mode("halves") || folder_of(&here) == folder_of(dlsym(RTLD_DEFAULT, "cublasLt_of"));
}

OUT cublasStatus_t cublasCreate_v2(cublasHandle_t *h)
{
	*h = new cublasContext{nullptr, false, false};
	return mode("start") || !is_whole() || !has_context() ? CUBLAS_STATUS_NOT_INITIALIZED
							      : CUBLAS_STATUS_SUCCESS;
}
/* Another stream takes the memory away again. */
OUT cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s)
{
	h->stream = reinterpret_cast<CUstream>(s);
	h->has_space = false;
	return CUBLAS_STATUS_SUCCESS;
}
OUT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *p, size_t n)
{
	h->has_space = p && n && reinterpret_cast<uintptr_t>(p) % 256 == 0;
	return h->has_space ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
OUT cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t m)
{
	int plain = m & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;

	return plain == CUBLAS_DEFAULT_MATH || plain == CUBLAS_TF32_TENSOR_OP_MATH
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_INVALID_VALUE;
}
OUT cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t m)
{
	h->is_alone = m == CUBLAS_ATOMICS_NOT_ALLOWED;
	return CUBLAS_STATUS_SUCCESS;
}
OUT cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int *v)
{
	return *v = 130100, CUBLAS_STATUS_SUCCESS;
}
OUT const char *cublasGetStatusString(cublasStatus_t st)
{
	return st == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
						    : "CUBLAS_STATUS_OTHER";
}

static number type(cudaDataType t)
{
	return t == CUDA_R_32F ? number::f32 : t == CUDA_R_16F ? number::f16 : number::bf16;
}

/* Of two 16 bit matrices a product may be of their type or of float32. */
static bool are_fit(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
	bool is_float = a == CUDA_R_32F;

	return a == b && (is_float || a == CUDA_R_16F || a == CUDA_R_16BF) &&
	       (c == CUDA_R_32F || c == a) &&
	       (compute == CUBLAS_COMPUTE_32F ||
		(is_float && compute == CUBLAS_COMPUTE_32F_FAST_TF32));
}

/* Columns first: element (row, column) is at row + column * ld. */
static void multiply(bool ta, bool tb, int m, int n, int k, const void *A, number a, int lda,
		     const void *B, number b, int ldb, float beta, void *C, number c, int ldc)
{
	std::vector<float> va = read_all(A, a, size_t(lda) * (ta ? m : k));
	std::vector<float> vb = read_all(B, b, size_t(ldb) * (tb ? k : n));
	std::vector<float> vc = read_all(C, c, size_t(ldc) * n);

	for (int col = 0; col < n; col++)
		for (int row = 0; row < m; row++) {
			float sum = 0, *to = &vc[row + size_t(col) * ldc];

			for (int i = 0; i < k; i++)
				sum += va[ta ? i + size_t(row) * lda : row + size_t(i) * lda] *
				       vb[tb ? col + size_t(i) * ldb : i + size_t(col) * ldb];
			*to = beta != 0 ? sum + beta * *to : sum;
		}
	write_all(C, c, vc);
}

OUT cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
				int n, int k, const void *alpha, const void *A, cudaDataType a,
				int lda, const void *B, cudaDataType b, int ldb, const void *beta,
				void *C, cudaDataType c, int ldc, cublasComputeType_t compute,
				cublasGemmAlgo_t)
{
	float add = *static_cast<const float *>(beta);
	bool t = ta == CUBLAS_OP_T, u = tb == CUBLAS_OP_T;

	if (mode("fail"))
		return CUBLAS_STATUS_EXECUTION_FAILED;
	if (!h->stream || !h->is_alone || !h->has_space ||
	    *static_cast<const float *>(alpha) != 1 || !are_fit(a, b, c, compute) || m < 1 ||
	    n < 1 || k < 1 || lda < (t ? k : m) || ldb < (u ? n : k) || ldc < m || !A || !B || !C)
		return CUBLAS_STATUS_INVALID_VALUE;
	return on_stream(h->stream,
			 [=] {
				 multiply(t, u, m, n, k, A, type(a), lda, B, type(b), ldb, add, C,
					  type(c), ldc);
			 })
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}
