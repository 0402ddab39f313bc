/*
 * A stand-in for the NVIDIA driver, for what windsock's burst asks of it: "GPU
 * memory" is the host's, and the clock of a stream counts what such work would
 * take on a GPU that multiplies at 50 and copies at 1000 GB/s. No result of it
 * is ever a measurement.
 *
 *	WINDSOCK_FAKE_BURST="gpus=8 slow=3 wrong=2 hang=1 lost=4 crash=5 pci=6 full=7 old=0 late=1"
 *	gpus: how many; the others name one of them: it computes at half speed,
 *	turns a bit over, never finishes, fails, ends the process, copies at half
 *	speed, has no free memory, reads only text, says so when a kernel is launched.
 *	start=8: it takes so many seconds to start; 0: that ends the process.
 */
#include <cuda.h>
/* as the plug-in asks for them: the first form of each */
#undef cuDevicePrimaryCtxRelease
#undef cuEventElapsedTime

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "plugins/burst/kernels.cu"

#define OUT extern "C" __attribute__((visibility("default")))

static int current = 0;
static double clock_ms = 0;

static int option(const char *name)
{
	const char *set = getenv("WINDSOCK_FAKE_BURST");
	const char *at = set ? strstr(set, name) : nullptr;

	return at && at[strlen(name)] == '='
		       ? static_cast<int>(strtol(at + strlen(name) + 1, nullptr, 10))
		       : -1;
}
static bool is(const char *name) { return option(name) == current; }

OUT CUresult cuInit(unsigned)
{
	if (option("start") == 0)
		abort();
	if (option("start") > 0)
		sleep(static_cast<unsigned>(option("start")));
	return option("gpus") == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
OUT CUresult cuGetErrorString(CUresult r, const char **text)
{
	*text = r == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "some error";
	return CUDA_SUCCESS;
}
OUT CUresult cuDriverGetVersion(int *v) { return *v = 13000, CUDA_SUCCESS; }
OUT CUresult cuDeviceGetCount(int *n)
{
	*n = option("gpus") > 0 ? option("gpus") : 8;
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGet(CUdevice *d, int i) { return *d = i, CUDA_SUCCESS; }
OUT CUresult cuDeviceGetName(char *to, int n, CUdevice)
{
	snprintf(to, static_cast<size_t>(n), "no GPU at all");
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetPCIBusId(char *to, int n, CUdevice d)
{
	static const char *const slots[] = {"18", "2A", "3A", "5D", "9A", "AB", "BA", "DB"};

	snprintf(to, static_cast<size_t>(n), "0000:%s:00.0", slots[d % 8]);
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute, CUdevice)
{
	return *v = 9, CUDA_SUCCESS;
}
OUT CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
	current = d;
	*c = reinterpret_cast<CUcontext>(1ul);
	if (is("crash"))
		abort();
	return is("lost") ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}
OUT CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
OUT CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
OUT CUresult cuMemGetInfo_v2(size_t *left, size_t *all)
{
	*all = 80ul << 30;
	*left = is("full") ? 1ul << 30 : *all;
	return CUDA_SUCCESS;
}
OUT CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	*p = reinterpret_cast<CUdeviceptr>(malloc(n));
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
OUT CUresult cuMemFree_v2(CUdeviceptr p) { return free(reinterpret_cast<void *>(p)), CUDA_SUCCESS; }
OUT CUresult cuMemAllocHost_v2(void **p, size_t n)
{
	*p = malloc(n);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
OUT CUresult cuMemFreeHost(void *p) { return free(p), CUDA_SUCCESS; }
/* Of large ones the beginning: no more of them is read before it is written. */
OUT CUresult cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream)
{
	for (size_t i = 0; i < n && i < 4096; i++)
		reinterpret_cast<unsigned *>(p)[i] = v;
	return CUDA_SUCCESS;
}
/* Bytes at 1 GB/s take a microsecond each thousand: only the clock moves, unless it is a few. */
static void copy(void *to, const void *from, size_t n, double gbps)
{
	if (n < 4096)
		memcpy(to, from, n);
	clock_ms += static_cast<double>(n) / gbps / 1e6;
}
OUT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream)
{
	copy(reinterpret_cast<void *>(to), from, n, is("pci") ? 12.5 : 25);
	return CUDA_SUCCESS;
}
OUT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream)
{
	copy(to, reinterpret_cast<void *>(from), n, is("pci") ? 12.5 : 25);
	return CUDA_SUCCESS;
}
OUT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream)
{
	copy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), n, 500);
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamCreate(CUstream *s, unsigned)
{
	*s = reinterpret_cast<CUstream>(1ul);
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamDestroy_v2(CUstream) { return CUDA_SUCCESS; }
OUT CUresult cuStreamSynchronize(CUstream)
{
	while (is("hang"))
		(void)pause();
	return CUDA_SUCCESS;
}
OUT CUresult cuEventCreate(CUevent *e, unsigned)
{
	*e = reinterpret_cast<CUevent>(new double(0));
	return CUDA_SUCCESS;
}
OUT CUresult cuEventDestroy_v2(CUevent e)
{
	return delete reinterpret_cast<double *>(e), CUDA_SUCCESS;
}
OUT CUresult cuEventRecord(CUevent e, CUstream)
{
	*reinterpret_cast<double *>(e) = clock_ms;
	return CUDA_SUCCESS;
}
OUT CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	*ms = static_cast<float>(*reinterpret_cast<double *>(to) -
				 *reinterpret_cast<double *>(from));
	return CUDA_SUCCESS;
}
OUT CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	/* a fat binary of nvcc's begins so */
	static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
	bool is_code = !memcmp(image, magic, sizeof(magic));

	*m = reinterpret_cast<CUmodule>(is_code ? 1ul : 2ul);
	if (is_code ? is("old") : !strstr(static_cast<const char *>(image), "\n.version 6.0\n"))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return CUDA_SUCCESS;
}
static bool of_code; /* the kernel that was looked up last */
OUT CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	of_code = m == reinterpret_cast<CUmodule>(1ul);
	*f = reinterpret_cast<CUfunction>(strcmp(name, "burst_product") ? 2ul : 1ul);
	return CUDA_SUCCESS;
}
template <typename T> static T arg(void **args, int i) { return *static_cast<T *>(args[i]); }
OUT CUresult cuLaunchKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned,
			    unsigned, unsigned, CUstream, void **a, void **)
{
	auto z = arg<float *>(a, 2);

	if (of_code && is("late"))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	if (f == reinterpret_cast<CUfunction>(1ul)) {
		auto n = arg<unsigned>(a, 3);

		if (*z == 0) /* it stays as it is: one is enough */
			burst_product(arg<const float *>(a, 0), arg<const float *>(a, 1), z, n);
		if (is("wrong"))
			z[4711] += 1;
		clock_ms += 2.0 * n * n * n / 50e12 * 1e3 * (is("slow") ? 2 : 1);
	} else {
		burst_wrong(arg<const float *>(a, 0), arg<float>(a, 1), arg<unsigned long>(a, 2),
			    arg<unsigned long long *>(a, 3));
	}
	return CUDA_SUCCESS;
}

/* cuBLAS in the same library: what WINDSOCK_CUBLAS names. */
OUT int cublasCreate_v2(void **handle) { return *handle = &current, 0; }
OUT int cublasDestroy_v2(void *) { return 0; }
OUT int cublasSetStream_v2(void *, CUstream) { return 0; }
OUT int cublasGemmEx(void *, int, int, int m, int n, int k, const void *, const void *x, int x_type,
		     int, const void *, int, int, const void *, void *z, int z_type, int,
		     int compute, int)
{
	auto to = static_cast<float *>(z);

	if (x_type != 14 || z_type != 0 || compute != 68 || m != n || n != k ||
	    *static_cast<const unsigned *>(x) != 0x3f803f80)
		return 7; /* CUBLAS_STATUS_INVALID_VALUE */
	for (long i = 0; *to == 0 && i < static_cast<long>(m) * n; i++)
		to[i + 0] = static_cast<float>(i ? k : 0);
	*to = static_cast<float>(k);
	clock_ms += 2.0 * m * n * k / 700e12 * 1e3 * (is("slow") ? 2 : 1);
	return 0;
}
