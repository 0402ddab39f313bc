/*
 * A stand-in for cuDNN: plain loops, and a look at every argument. Of the algorithms that
 * it offers the first two are traps: one gives other bits each time, one needs too much
 * memory. No result of it is ever a measurement.
 *
 *	WINDSOCK_FAKE_CUDNN=old       8.9.7
 *	                    cuda-14   made for CUDA 14
 *	                    mixed     its parts are of several versions
 *	                    none      it has no algorithm for anything
 *	                    fail      convolutions fail
 *	                    short     weights' gradients are a fifth too small
 *	                    refuses   what it recommends second it refuses when it is to be done,
 *	                              or (of data's gradient) when asked what memory it takes
 *	                    uncompiled  the same, as it cannot compile it
 *	                    compiles  it makes its kernels by NVRTC, which somebody has to have
 *	                              loaded: it looks on the loader's path alone
 *	                    slow      the first convolution takes 6 s, as where code is loaded
 * Compiled with -DWITHOUT_GRADIENTS it lacks cudnnConvolutionBackwardFilter.
 */
#include "tests/fake/convolution.h"

#include <cudnn.h>
#include <malloc.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#undef OUT
#define OUT extern "C" __attribute__((visibility("default")))

enum { SPACE = 4096 };

struct cudnnContext {
	CUstream stream;
};
struct cudnnTensorStruct {
	shape s;
};
struct cudnnFilterStruct {
	shape s;
};
struct cudnnConvolutionStruct {
	int pad, stride;
	cudnnMathType_t math;
};

/* Each call takes and gives back megabytes: for new pages a third of its time went. */
__attribute__((constructor)) static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

static bool mode(const char *name)
{
	static const char *const set = getenv("WINDSOCK_FAKE_CUDNN");

	return set && strcmp(set, name) == 0;
}

static bool refuses() { return mode("refuses") || mode("uncompiled"); }

/* --- the library and its descriptors ------------------------------------------------------- */

OUT size_t cudnnGetVersion(void) { return mode("old") ? 8907 : 91900; }
OUT size_t cudnnGetCudartVersion(void) { return mode("cuda-14") ? 14000 : 13000; }
OUT const char *cudnnGetErrorString(cudnnStatus_t st)
{
	return st == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH
		       ? "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"
	       : st == CUDNN_STATUS_EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED"
	       : st == CUDNN_STATUS_NOT_SUPPORTED    ? "CUDNN_STATUS_NOT_SUPPORTED"
						     : "CUDNN_STATUS_BAD_PARAM";
}
OUT void cudnnGetLastErrorString(char *to, size_t n)
{
	snprintf(to, n, "%s", mode("mixed") ? "libcudnn_cnn.so.9 is of another version" : "");
}
OUT cudnnStatus_t cudnnCreate(cudnnHandle_t *h)
{
	if (!has_context())
		return CUDNN_STATUS_NOT_INITIALIZED;
	*h = new cudnnContext{nullptr};
	return mode("mixed") ? CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH : CUDNN_STATUS_SUCCESS;
}
OUT cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s)
{
	h->stream = reinterpret_cast<CUstream>(s);
	return CUDNN_STATUS_SUCCESS;
}
OUT cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *d)
{
	return *d = new cudnnTensorStruct(), CUDNN_STATUS_SUCCESS;
}
OUT cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d)
{
	return delete d, CUDNN_STATUS_SUCCESS;
}
OUT cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t d, cudnnTensorFormat_t f,
					     cudnnDataType_t t, int n, int c, int h, int w)
{
	d->s = {f, t, n, c, h, w};
	return n > 0 && c > 0 && h > 0 && w > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
OUT cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *d)
{
	return *d = new cudnnFilterStruct(), CUDNN_STATUS_SUCCESS;
}
OUT cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d)
{
	return delete d, CUDNN_STATUS_SUCCESS;
}
OUT cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t t,
					     cudnnTensorFormat_t f, int k, int c, int h, int w)
{
	d->s = {f, t, k, c, h, w};
	return k > 0 && c > 0 && h > 0 && w > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
OUT cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *d)
{
	return *d = new cudnnConvolutionStruct(), CUDNN_STATUS_SUCCESS;
}
OUT cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d)
{
	return delete d, CUDNN_STATUS_SUCCESS;
}
OUT cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t d, int ph, int pw,
						  int sh, int sw, int dh, int dw,
						  cudnnConvolutionMode_t m, cudnnDataType_t t)
{
	d->pad = ph;
	d->stride = sh;
	return ph == pw && sh == sw && dh == 1 && dw == 1 && m == CUDNN_CROSS_CORRELATION &&
			       t == CUDNN_DATA_FLOAT
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}
OUT cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t m)
{
	return d->math = m, CUDNN_STATUS_SUCCESS;
}

/* --- which algorithm ------------------------------------------------------------------------- */

static bool is_fit(const shape &x, const shape &w, const shape &y, cudnnConvolutionDescriptor_t d)
{
	auto made = [d](int side, int k) { return (side + 2 * d->pad - k) / d->stride + 1; };

	return x.type == w.type && x.type == y.type && x.format == w.format &&
	       x.format == y.format && x.n == y.n && x.c == w.c && y.c == w.n &&
	       y.h == made(x.h, w.h) && y.w == made(x.w, w.w) &&
	       (x.type == CUDNN_DATA_FLOAT) == (x.format == CUDNN_TENSOR_NCHW) &&
	       (x.type == CUDNN_DATA_FLOAT || (x.c % 8 == 0 && y.c % 8 == 0));
}

template <typename Perf, typename Algo>
static cudnnStatus_t offer(bool fits, int asked, int *found, Perf *perf, Algo right, Algo trap,
			   bool is_float)
{
	cudnnMathType_t math = is_float ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;

	if (!fits || asked < 4)
		return CUDNN_STATUS_BAD_PARAM;
	*found = 4;
	perf[0] = {trap, CUDNN_STATUS_SUCCESS, 1, SPACE, CUDNN_NON_DETERMINISTIC, math, {}};
	perf[1] = {trap,
		   CUDNN_STATUS_SUCCESS,
		   2,
		   refuses() ? size_t(SPACE) : size_t(1) << 40,
		   CUDNN_DETERMINISTIC,
		   math,
		   {}};
	perf[2] = {trap, CUDNN_STATUS_NOT_SUPPORTED, -1, 0, CUDNN_DETERMINISTIC, math, {}};
	perf[3] = {right, CUDNN_STATUS_SUCCESS, 3, SPACE, CUDNN_DETERMINISTIC, math, {}};
	if (mode("none"))
		perf[0].status = perf[1].status = perf[3].status = CUDNN_STATUS_NOT_SUPPORTED;
	return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t space(size_t *bytes, bool is_trap)
{
	*bytes = SPACE;
	return mode("none") || (refuses() && is_trap) ? CUDNN_STATUS_NOT_SUPPORTED
						      : CUDNN_STATUS_SUCCESS;
}

OUT cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t x,
							 cudnnFilterDescriptor_t w,
							 cudnnConvolutionDescriptor_t d,
							 cudnnTensorDescriptor_t y, int asked,
							 int *found,
							 cudnnConvolutionFwdAlgoPerf_t *perf)
{
	return offer(is_fit(x->s, w->s, y->s, d), asked, found, perf,
		     CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
		     CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, x->s.type == CUDNN_DATA_FLOAT);
}
OUT cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
	cudnnHandle_t, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t y,
	cudnnConvolutionDescriptor_t d, cudnnTensorDescriptor_t x, int asked, int *found,
	cudnnConvolutionBwdDataAlgoPerf_t *perf)
{
	return offer(is_fit(x->s, w->s, y->s, d), asked, found, perf,
		     CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
		     x->s.type == CUDNN_DATA_FLOAT);
}
OUT cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
	cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y,
	cudnnConvolutionDescriptor_t d, cudnnFilterDescriptor_t w, int asked, int *found,
	cudnnConvolutionBwdFilterAlgoPerf_t *perf)
{
	return offer(is_fit(x->s, w->s, y->s, d), asked, found, perf,
		     CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
		     x->s.type == CUDNN_DATA_FLOAT);
}
OUT cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
							  cudnnFilterDescriptor_t,
							  cudnnConvolutionDescriptor_t,
							  cudnnTensorDescriptor_t,
							  cudnnConvolutionFwdAlgo_t, size_t *bytes)
{
	return space(bytes, false);
}
OUT cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
	cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
	cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t algo,
	size_t *bytes)
{
	return space(bytes, algo != CUDNN_CONVOLUTION_BWD_DATA_ALGO_1);
}
OUT cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
	cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
	cudnnConvolutionDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionBwdFilterAlgo_t,
	size_t *bytes)
{
	return space(bytes, false);
}

/* --- convolutions ----------------------------------------------------------------------------- */

static bool is_bad(const void *p) { return !p || reinterpret_cast<uintptr_t>(p) % 16; }

static bool has_compiler()
{
	return !mode("compiles") || (dlopen("libnvrtc.so.13", RTLD_LAZY | RTLD_NOLOAD) &&
				     dlopen("libnvrtc-builtins.so.13.0", RTLD_LAZY | RTLD_NOLOAD));
}

static cudnnStatus_t convolve(cudnnHandle_t h, pass p, const job &j, const void *alpha, bool right,
			      const void *space, size_t bytes, cudnnConvolutionDescriptor_t d)
{
	bool is_float = j.x.type == CUDNN_DATA_FLOAT;

	static bool is_loaded;

	if (mode("fail"))
		return CUDNN_STATUS_EXECUTION_FAILED;
	if (!has_compiler())
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (mode("slow") && !is_loaded)
		sleep(6);
	is_loaded = true;
	if (!right && refuses())
		return mode("uncompiled") ? CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED
					  : CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH;
	if (!right || !h->stream || is_bad(j.a) || is_bad(j.b) || is_bad(j.to) || is_bad(space) ||
	    bytes < SPACE || *static_cast<const float *>(alpha) != 1 || !is_fit(j.x, j.w, j.y, d) ||
	    (is_float && d->math == CUDNN_TENSOR_OP_MATH))
		return CUDNN_STATUS_BAD_PARAM;
	float scale = p == WEIGHTS && mode("short") ? 0.8f : 1;

	return on_stream(h->stream, [j, p, scale] { run(j, p, scale); })
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_EXECUTION_FAILED;
}

OUT cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t h, const void *alpha,
					  cudnnTensorDescriptor_t x, const void *px,
					  cudnnFilterDescriptor_t w, const void *pw,
					  cudnnConvolutionDescriptor_t d,
					  cudnnConvolutionFwdAlgo_t algo, void *space, size_t bytes,
					  const void *beta, cudnnTensorDescriptor_t y, void *py)
{
	return convolve(h, FORWARD,
			{x->s, w->s, y->s, d->pad, d->stride, *static_cast<const float *>(beta), px,
			 pw, py},
			alpha, algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, space,
			bytes, d);
}
OUT cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t h, const void *alpha,
					       cudnnFilterDescriptor_t w, const void *pw,
					       cudnnTensorDescriptor_t y, const void *py,
					       cudnnConvolutionDescriptor_t d,
					       cudnnConvolutionBwdDataAlgo_t algo, void *space,
					       size_t bytes, const void *beta,
					       cudnnTensorDescriptor_t x, void *px)
{
	return convolve(h, DATA,
			{x->s, w->s, y->s, d->pad, d->stride, *static_cast<const float *>(beta), pw,
			 py, px},
			alpha, algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, space, bytes, d);
}
#ifndef WITHOUT_GRADIENTS
OUT cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void *alpha,
						 cudnnTensorDescriptor_t x, const void *px,
						 cudnnTensorDescriptor_t y, const void *py,
						 cudnnConvolutionDescriptor_t d,
						 cudnnConvolutionBwdFilterAlgo_t algo, void *space,
						 size_t bytes, const void *beta,
						 cudnnFilterDescriptor_t w, void *pw)
{
	return convolve(h, WEIGHTS,
			{x->s, w->s, y->s, d->pad, d->stride, *static_cast<const float *>(beta), px,
			 py, pw},
			alpha, algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, space, bytes, d);
}
#endif
