/*
 * What is not a convolution or a product, on the GPU. Compiled by nvcc for GPUs, and as
 * plain C++ into the stand-in for the driver that the tests have: so no kernel
 * synchronizes or shares memory. Threads are independent of each other, each sums in
 * an order of its own that depends on sizes alone, and the same run gives the same bits
 * on every GPU.
 *
 * A tensor is [image][channel][pixel] in float32, or [image][pixel][channel] of a
 * 16 bit type with its channels filled up to a multiple of 8: one load of 16 bytes.
 * Where a kernel takes both, @inner is the distance of two channels (pixels, or 1):
 * the channel of element i is i / inner % channels.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__
#define FIRST (blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE (gridDim.x * blockDim.x)
#else
#include <cmath>
#define KERNEL extern "C" void
#define DEVICE inline
#define FIRST 0u
#define STRIDE 1u
#endif
typedef unsigned u32;
/* Sizes are checked by the caller: no tensor has 2^31 elements. */
#define EACH(i, n)                                                                                 \
	u32 i = FIRST;                                                                             \
	i < (n);                                                                                   \
	i += STRIDE

template <typename T> DEVICE T as(float v);
template <> DEVICE float as<float>(float v) { return v; }
template <> DEVICE __half as<__half>(float v) { return __float2half(v); }
template <> DEVICE __nv_bfloat16 as<__nv_bfloat16>(float v) { return __float2bfloat16(v); }
DEVICE float real(float v) { return v; }
DEVICE float real(__half v) { return __half2float(v); }
DEVICE float real(__nv_bfloat16 v) { return __bfloat162float(v); }

/* Does a ReLU let it through? What is not a number it does, as in PyTorch. */
DEVICE bool lives(float v) { return !(v <= 0); }

/* V neighbours at once. */
template <typename T, int V> struct alignas(sizeof(T) * V) pack {
	T v[V];
};
template <typename T, int V> DEVICE pack<T, V> load(const T *p, u32 i)
{
	return reinterpret_cast<const pack<T, V> *>(p)[i];
}
template <typename T, int V> DEVICE void store(T *p, u32 i, const pack<T, V> &v)
{
	reinterpret_cast<pack<T, V> *>(p)[i] = v;
}

/* One kernel for each type: its body is a template of type, width and order. */
#define THREE(name, params, args)                                                                  \
	KERNEL name##_f32 params(float) { name<float, 1, false> args; }                            \
	KERNEL name##_bf16 params(__nv_bfloat16) { name<__nv_bfloat16, 8, true> args; }            \
	KERNEL name##_fp16 params(__half) { name<__half, 8, true> args; }

#include "plugins/cudnn/kernels_move.h"
#include "plugins/cudnn/kernels_norm.h"
#include "plugins/cudnn/kernels_pool.h"
