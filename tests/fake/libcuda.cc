/*
 * A stand-in for the NVIDIA driver, for tests of error paths on machines without
 * a GPU: "GPU memory" is the host's, and the kernels are our own source compiled
 * for the processor. No result of it is ever a measurement.
 *
 *	WINDSOCK_FAKE_CUDA=no-gpu    cuInit says that there is none
 *	WINDSOCK_FAKE_CUDA=busy      streams never finish
 */
#include <cuda.h>

#include <cstdlib>
#include <cstring>

#include "bench/plugin/nccl/kernels.cu"

#define OUT extern "C" __attribute__((visibility("default")))

static bool mode(const char *name)
{
	const char *set = getenv("WINDSOCK_FAKE_CUDA");

	return set && strcmp(set, name) == 0;
}

OUT CUresult cuInit(unsigned) { return mode("no-gpu") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }
OUT CUresult cuDriverGetVersion(int *v) { return *v = 13000, CUDA_SUCCESS; }
OUT CUresult cuDeviceGetCount(int *n) { return *n = 1, CUDA_SUCCESS; }
OUT CUresult cuDeviceGet(CUdevice *d, int i) { return *d = i, CUDA_SUCCESS; }
OUT CUresult cuDeviceGetName(char *to, int n, CUdevice)
{
	strncpy(to, "no GPU at all", static_cast<size_t>(n));
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetUuid_v2(CUuuid *u, CUdevice)
{
	memset(u, 7, sizeof(*u));
	return CUDA_SUCCESS;
}
OUT CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice)
{
	*c = reinterpret_cast<CUcontext>(1);
	return CUDA_SUCCESS;
}
OUT CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
OUT CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	*p = reinterpret_cast<CUdeviceptr>(aligned_alloc(512, (n + 511) / 512 * 512));
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
OUT CUresult cuMemFree_v2(CUdeviceptr p)
{
	free(reinterpret_cast<void *>(p));
	return CUDA_SUCCESS;
}
OUT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
	memcpy(reinterpret_cast<void *>(to), from, n);
	return CUDA_SUCCESS;
}
OUT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
	memcpy(to, reinterpret_cast<void *>(from), n);
	return CUDA_SUCCESS;
}
OUT CUresult cuMemsetD8_v2(CUdeviceptr p, unsigned char v, size_t n)
{
	memset(reinterpret_cast<void *>(p), v, n);
	return CUDA_SUCCESS;
}
OUT CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	/* a fat binary of nvcc's begins so */
	static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};

	*m = reinterpret_cast<CUmodule>(1);
	return memcmp(image, magic, sizeof(magic)) ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}
OUT CUresult cuModuleGetFunction(CUfunction *f, CUmodule, const char *name)
{
	*f = reinterpret_cast<CUfunction>(strcmp(name, "windsock_fill") ? 2ul : 1ul);
	return CUDA_SUCCESS;
}
template <typename T> static T arg(void **args, int i) { return *static_cast<T *>(args[i]); }
OUT CUresult cuLaunchKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned,
			    unsigned, unsigned, CUstream, void **a, void **)
{
	auto p = arg<unsigned char *>(a, 0), table = arg<unsigned char *>(a, 1);
	auto first = arg<unsigned long>(a, 2), period = arg<unsigned long>(a, 3),
	     n = arg<unsigned long>(a, 4);
	auto size = arg<unsigned>(a, 5);

	if (f == reinterpret_cast<CUfunction>(1ul))
		windsock_fill(p, table, first, period, n, size);
	else
		windsock_wrong(p, table, first, period, n, size, arg<int>(a, 6),
			       arg<unsigned long long *>(a, 7));
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamCreate(CUstream *s, unsigned)
{
	*s = reinterpret_cast<CUstream>(1);
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
OUT CUresult cuStreamQuery(CUstream) { return mode("busy") ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; }
OUT CUresult cuStreamDestroy_v2(CUstream) { return CUDA_SUCCESS; }
OUT CUresult cuGetErrorString(CUresult r, const char **text)
{
	*text = r == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "some error";
	return CUDA_SUCCESS;
}
