/*
 * A stand-in for the NVIDIA driver, for what windsock's burst asks of it: "GPU
 * memory" is the host's, and the clock of a stream counts what such work would
 * take on a GPU that multiplies at 50 and copies at 1000 GB/s. No result of it
 * is ever a measurement.
 *
 *	WINDSOCK_FAKE_BURST="gpus=8 slow=3 wrong=2 hang=1 lost=4 crash=5 pci=6 full=7 old=0 late=1
 *		stale=2 swap=3 damage=4 near=5 blas=6"
 *	gpus: how many; the others name one of them: it computes at half speed,
 *	turns a bit over, never finishes, fails, ends the process, copies at half
 *	speed, has no free memory, reads only text, says so when a kernel is launched.
 *	Or it leaves one element as it was, swaps two, loses a bit of what is copied from it, gives
 *	memory of the host only to who runs on one processor, or cuBLAS does not know it.
 *	start=8: it takes so many seconds to start; 0: that ends the process. init=802: it fails.
 *	integrated=1: their memory is the host's.
 */
#include <cuda.h>
/* as the plug-in asks for them: the first form of each */
#undef cuDevicePrimaryCtxRelease
#undef cuEventElapsedTime

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sched.h>
#include <set>
#include <unistd.h>
#include <utility>

#include "plugins/burst/kernels.cu"

#define OUT extern "C" __attribute__((visibility("default")))

static int current = 0;
static double clock_ms = 0, opened_ms = 0;
static std::set<std::pair<void *, const void *>> copied; /* since then: to, from */

static int option(const char *name)
{
	static const char *const set = getenv("WINDSOCK_FAKE_BURST");
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
	if (option("init") >= 0)
		return static_cast<CUresult>(option("init"));
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
OUT CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute what, CUdevice)
{
	*v = what == CU_DEVICE_ATTRIBUTE_INTEGRATED ? option("integrated") == 1 : 9;
	return CUDA_SUCCESS;
}
OUT CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
	current = d;
	opened_ms = clock_ms;
	copied.clear();
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
/* What one GPU gave back is the next one's: a kernel that hands out fresh pages is most of the work
 * here. */
static std::map<void *, size_t> given;
static std::multimap<size_t, void *> spare;
static CUresult give(void **p, size_t n)
{
	auto old = spare.find(n);

	if (old != spare.end()) {
		*p = old->second;
		spare.erase(old);
	} else {
		*p = malloc(n);
	}
	if (!*p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	given[*p] = n;
	memset(*p, 0, std::min<size_t>(n, 4096)); /* no result yet */
	return CUDA_SUCCESS;
}
static CUresult take(void *p)
{
	auto one = given.find(p);

	if (one == given.end())
		return CUDA_ERROR_INVALID_VALUE;
	spare.insert({one->second, p});
	given.erase(one);
	return CUDA_SUCCESS;
}
OUT CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	void *at = nullptr;
	CUresult r = give(&at, n);

	*p = reinterpret_cast<CUdeviceptr>(at);
	return r;
}
OUT CUresult cuMemFree_v2(CUdeviceptr p) { return take(reinterpret_cast<void *>(p)); }
OUT CUresult cuMemAllocHost_v2(void **p, size_t n)
{
	cpu_set_t mask;

	if (is("near") && (sched_getaffinity(0, sizeof(mask), &mask) || CPU_COUNT(&mask) != 1))
		return CUDA_ERROR_INVALID_VALUE;
	return give(p, n);
}
OUT CUresult cuMemFreeHost(void *p) { return take(p); }
/* Of large ones the beginning: no more of them is read before it is written. */
OUT CUresult cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream)
{
	for (size_t i = 0; i < n && i < 4096; i++)
		reinterpret_cast<unsigned *>(p)[i] = v;
	return CUDA_SUCCESS;
}
/* Bytes at 1 GB/s take a microsecond each thousand. What was copied is there: not again. */
static void copy(void *to, const void *from, size_t n, double gbps)
{
	if (n < 4096 || copied.insert({to, from}).second)
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
	if (is("damage") && n > 4711)
		static_cast<char *>(to)[4711] ^= 4;
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
	while (is("hang") && clock_ms - opened_ms > 100) /* it has begun to work */
		(void)pause();
	(void)usleep(500); /* what waits for a GPU leaves the processors to others */
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
	*f = reinterpret_cast<CUfunction>(!strcmp(name, "burst_product") ? 2ul
					  : !strcmp(name, "burst_fill")	 ? 3ul
									 : 1ul);
	return CUDA_SUCCESS;
}
/* It stays as it is: once is enough, until it is cleared. */
static bool is_cleared(const float *z) { return *z != *z; }
static bool is_to_do(const float *z) { return *z == 0 || is_cleared(z); }
static void multiply(const float *x, const float *y, float *z, unsigned n)
{
	const bool is_again = is_cleared(z);
	const float before = z[1234];

	burst_product(x, y, z, n);
	if (is("wrong"))
		z[4711] *= 2;
	if (is("stale") && is_again)
		z[1234] = before;
	if (is("swap"))
		std::swap_ranges(z, z + 64, z + 64);
}
template <typename T> static T arg(void **args, int i) { return *static_cast<T *>(args[i]); }
OUT CUresult cuLaunchKernel(CUfunction f, unsigned, unsigned, unsigned, unsigned, unsigned,
			    unsigned, unsigned, CUstream, void **a, void **)
{
	if (of_code && is("late"))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	if (f == reinterpret_cast<CUfunction>(2ul)) {
		auto z = arg<float *>(a, 2);
		auto n = arg<unsigned>(a, 3);

		if (is_to_do(z))
			multiply(arg<const float *>(a, 0), arg<const float *>(a, 1), z, n);
		clock_ms += 2.0 * n * n * n / 50e12 * 1e3 * (is("slow") ? 2 : 1);
	} else if (f == reinterpret_cast<CUfunction>(3ul)) {
		burst_fill(arg<void *>(a, 0), arg<void *>(a, 1), arg<unsigned>(a, 2),
			   arg<int>(a, 3));
	} else {
		burst_wrong(arg<const float *>(a, 0), arg<unsigned>(a, 1),
			    arg<unsigned long long *>(a, 2));
	}
	return CUDA_SUCCESS;
}

/* cuBLAS in the same library: what WINDSOCK_CUBLAS names. */
OUT int cublasCreate_v2(void **handle) { return *handle = &current, 0; }
OUT int cublasDestroy_v2(void *) { return 0; }
OUT int cublasSetStream_v2(void *, CUstream) { return 0; }
static float bf16(const void *from, size_t i)
{
	const unsigned bits = static_cast<const unsigned short *>(from)[i] * 65536u;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}
/* Columns first: element (i, j) is at i + j n. What meets gives the same at each place. */
OUT int cublasGemmEx(void *, int, int, int m, int n, int k, const void *, const void *x, int x_type,
		     int, const void *y, int, int, const void *, void *z, int z_type, int,
		     int compute, int)
{
	auto to = static_cast<float *>(z);
	const auto side = static_cast<size_t>(n);

	if (is("blas"))
		return 15; /* CUBLAS_STATUS_NOT_SUPPORTED */
	if (x_type != 14 || z_type != 0 || compute != 68 || m != n || n != k)
		return 7; /* CUBLAS_STATUS_INVALID_VALUE */
	for (size_t j = 0, rows = is_to_do(to) ? side : 0; j < rows; j++)
		for (size_t i = 0; i < side; i++)
			to[i + j * side] = bf16(x, i) * bf16(y, j * side) * static_cast<float>(k);
	clock_ms += 2.0 * m * n * k / 700e12 * 1e3 * (is("slow") ? 2 : 1);
	return 0;
}
