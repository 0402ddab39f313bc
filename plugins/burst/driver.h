#ifndef PLUGINS_BURST_DRIVER_H
#define PLUGINS_BURST_DRIVER_H
/*
 * The functions of the CUDA driver that are used, by the names that every
 * driver since CUDA 9.2 exports: cuda.h would ask for the newest of each, which
 * an older driver lacks.
 */
#include "lib/core/err.h"

#include <cuda.h>

#define DRIVER_FUNCTIONS(F)                                                                        \
	F(init, CUresult (*)(unsigned), "cuInit")                                                  \
	F(error_string, CUresult (*)(CUresult, const char **), "cuGetErrorString")                 \
	F(version, CUresult (*)(int *), "cuDriverGetVersion")                                      \
	F(count, CUresult (*)(int *), "cuDeviceGetCount")                                          \
	F(get, CUresult (*)(CUdevice *, int), "cuDeviceGet")                                       \
	F(name, CUresult (*)(char *, int, CUdevice), "cuDeviceGetName")                            \
	F(pci, CUresult (*)(char *, int, CUdevice), "cuDeviceGetPCIBusId")                         \
	F(attribute, CUresult (*)(int *, CUdevice_attribute, CUdevice), "cuDeviceGetAttribute")    \
	F(retain, CUresult (*)(CUcontext *, CUdevice), "cuDevicePrimaryCtxRetain")                 \
	F(release, CUresult (*)(CUdevice), "cuDevicePrimaryCtxRelease")                            \
	F(use, CUresult (*)(CUcontext), "cuCtxSetCurrent")                                         \
	F(memory, CUresult (*)(size_t *, size_t *), "cuMemGetInfo_v2")                             \
	F(alloc, CUresult (*)(CUdeviceptr *, size_t), "cuMemAlloc_v2")                             \
	F(free, CUresult (*)(CUdeviceptr), "cuMemFree_v2")                                         \
	F(alloc_host, CUresult (*)(void **, size_t), "cuMemAllocHost_v2")                          \
	F(free_host, CUresult (*)(void *), "cuMemFreeHost")                                        \
	F(set32, CUresult (*)(CUdeviceptr, unsigned, size_t, CUstream), "cuMemsetD32Async")        \
	F(to_gpu, CUresult (*)(CUdeviceptr, const void *, size_t, CUstream),                       \
	  "cuMemcpyHtoDAsync_v2")                                                                  \
	F(from_gpu, CUresult (*)(void *, CUdeviceptr, size_t, CUstream), "cuMemcpyDtoHAsync_v2")   \
	F(inside, CUresult (*)(CUdeviceptr, CUdeviceptr, size_t, CUstream),                        \
	  "cuMemcpyDtoDAsync_v2")                                                                  \
	F(stream, CUresult (*)(CUstream *, unsigned), "cuStreamCreate")                            \
	F(stream_end, CUresult (*)(CUstream), "cuStreamDestroy_v2")                                \
	F(wait, CUresult (*)(CUstream), "cuStreamSynchronize")                                     \
	F(event, CUresult (*)(CUevent *, unsigned), "cuEventCreate")                               \
	F(event_end, CUresult (*)(CUevent), "cuEventDestroy_v2")                                   \
	F(record, CUresult (*)(CUevent, CUstream), "cuEventRecord")                                \
	F(elapsed, CUresult (*)(float *, CUevent, CUevent), "cuEventElapsedTime")                  \
	F(module, CUresult (*)(CUmodule *, const void *), "cuModuleLoadData")                      \
	F(function, CUresult (*)(CUfunction *, CUmodule, const char *), "cuModuleGetFunction")     \
	F(launch,                                                                                  \
	  CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
		       unsigned, CUstream, void **, void **),                                      \
	  "cuLaunchKernel")

struct driver {
#define DRIVER_FIELD(field, type, name) __typeof__(type) field;
	DRIVER_FUNCTIONS(DRIVER_FIELD)
#undef DRIVER_FIELD
};

int driver_load(struct driver *d, struct err *e);

/* Products by cuBLAS, where it can be found (WINDSOCK_CUBLAS=PATH, or none). @cuda: the driver's.
 */
struct blas {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, CUstream stream);
	int (*product)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		       const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
		       const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
};
bool blas_load(struct blas *b, int cuda);
/* C (n x n, fp32) = A B, both of half the width. 0, or a status of cuBLAS. */
int blas_product(const struct blas *b, void *handle, CUdeviceptr x, CUdeviceptr y, CUdeviceptr z,
		 int n, bool bf16);

#endif
