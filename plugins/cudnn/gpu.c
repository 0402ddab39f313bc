#include "plugins/cudnn/gpu.h"

#include "bench/dev/dev.h"
#include "bench/plugin/image.h"
#include "bench/plugin/leave.h"
#include "lib/core/units.h"

#include <sched.h>

enum {
	THREADS = 256,
	BLOCKS_MAX = 16384, /* the rest by turns */
	CUBLAS_SPACE = 32 << 20,
	BF16_SINCE = 8, /* compute capability */
	WARMING = 120,	/* seconds: the first calls load code */
};
static const char *const engine_words[] = {"float32", "bf16", "fp16"};

IMAGE(windsock_engine_kernels, KERNELS)

struct gpu gpu = {.scale = 1};

static void note(CUresult r) { gpu.failed_check = gpu.failed_check ?: driver_check(r); }

int gpu_failed(const char *what, CUresult r, struct err *e)
{
	note(r);
	err_set(e, ERR_SYS, "%s failed on %s: CUDA says: %s", what, gpu.name, driver_words(r));
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		return err_hint(e,
				"a smaller --batch needs less; nvidia-smi shows who has the rest");
	return err_take_fix(e, r == CUDA_ERROR_LAUNCH_TIMEOUT ? DEV_WATCHED_FIX : DEV_SICK_FIX);
}

int gpu_current(struct err *e)
{
	CUresult r = cuCtxSetCurrent(gpu.context);

	return r == CUDA_SUCCESS ? 0 : gpu_failed("cuCtxSetCurrent", r, e);
}

/* --- memory ---------------------------------------------------------------------------- */

int gpu_alloc(size_t bytes, void **ret, struct err *e)
{
	size_t left = 0, all = 0;
	CUdeviceptr p = 0;
	CUresult r = cuMemAlloc(&p, bytes ? bytes : 1);

	if (r == CUDA_ERROR_OUT_OF_MEMORY) {
		(void)cuMemGetInfo(&left, &all);
		err_set(e, ERR_SYS, "%s has no %zu MiB of memory left: %zu of its %zu MiB are free",
			gpu.name, (bytes >> 20) + 1, left >> 20, all >> 20);
		return err_hint(e,
				"a smaller --batch needs less; nvidia-smi shows who has the rest");
	}
	if (r == CUDA_SUCCESS)
		r = cuMemsetD8Async(p, 0, bytes ? bytes : 1, gpu.stream);
	if (r != CUDA_SUCCESS) {
		if (p)
			(void)cuMemFree(p);
		return gpu_failed("cuMemAlloc", r, e);
	}
	*ret = (void *)(uintptr_t)p;
	return 0;
}

void gpu_free(void *p)
{
	if (p && !gpu.is_lost)
		(void)cuMemFree(gpu_at(p));
}

int gpu_alloc_host(size_t bytes, void **ret, struct err *e)
{
	CUresult r = cuMemHostAlloc(ret, bytes ? bytes : 1, 0);

	if (r != CUDA_SUCCESS)
		return gpu_failed("cuMemHostAlloc", r, e);
	memset(*ret, 0, bytes);
	return 0;
}

void gpu_free_host(void *p)
{
	if (p && !gpu.is_lost)
		(void)cuMemFreeHost(p);
}

int gpu_send(void *to, const void *from, size_t bytes, struct err *e)
{
	CUresult r = bytes ? cuMemcpyHtoDAsync(gpu_at(to), from, bytes, gpu.stream) : CUDA_SUCCESS;

	return r == CUDA_SUCCESS ? 0 : gpu_failed("copying to the GPU", r, e);
}

int gpu_fetch(void *to, const void *from, size_t bytes, CUstream s, struct err *e)
{
	CUresult r = bytes ? cuMemcpyDtoHAsync(to, gpu_at(from), bytes, s) : CUDA_SUCCESS;

	return r == CUDA_SUCCESS ? 0 : gpu_failed("copying from the GPU", r, e);
}

/* --- work ------------------------------------------------------------------------------- */

static int lose(const char *what, struct err *e)
{
	gpu.failed_check = DEV_SICK;
	gpu.is_lost = true;
	leave_for_good();
	err_set(e, ERR_SYS, "%s did not finish within %.0f s on %s (GPU %d)", what,
		(double)gpu.deadline_ns / 1e9, gpu.name, gpu.number);
	return err_hint(e, "nvidia-smi; dmesg | grep -i xid; --deadline allows more");
}

int gpu_wait(CUstream s, CUevent ev, const char *what, struct err *e)
{
	uint64_t until = now_ns() + gpu.deadline_ns;
	CUresult r;

	while ((r = ev ? cuEventQuery(ev) : cuStreamQuery(s)) == CUDA_ERROR_NOT_READY) {
		if (gpu.is_lost || now_ns() > until)
			return lose(what, e);
		(void)sched_yield();
	}
	return r == CUDA_SUCCESS ? 0 : gpu_failed(what, r, e);
}

/* Looked up once each. */
static CUfunction find(const char *name, CUresult *ret)
{
	static struct {
		char name[32];
		CUfunction f;
	} known[96];
	size_t i = 0;

	while (i < ARRAY_LEN(known) - 1 && known[i].f && !streq(known[i].name, name))
		i++;
	*ret = CUDA_SUCCESS;
	if (known[i].f && streq(known[i].name, name))
		return known[i].f;
	*ret = cuModuleGetFunction(&known[i].f, gpu.module, name);
	(void)snprintf(known[i].name, sizeof(known[i].name), "%s", name);
	if (*ret != CUDA_SUCCESS)
		known[i].f = NULL;
	return known[i].f;
}

int gpu_launch(struct err *e, const char *name, uint32_t n, void **args)
{
	uint32_t blocks = (n + THREADS - 1) / THREADS;
	CUresult r;
	CUfunction f = find(name, &r);

	if (!n)
		return 0;
	if (r == CUDA_SUCCESS)
		r = cuLaunchKernel(f, blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks, 1, 1, THREADS, 1,
				   1, 0, gpu.stream, args, NULL);
	return r == CUDA_SUCCESS ? 0 : gpu_failed(name, r, e);
}

/* --- its beginning ----------------------------------------------------------------------- */

static int open_device(int number, struct err *e)
{
	CUdevice dev;
	int major = 0;
	CUresult r = cuDeviceGet(&dev, number);

	gpu.number = number;
	if (r == CUDA_SUCCESS)
		r = cuDeviceGetName(gpu.name, sizeof(gpu.name), dev);
	if (r == CUDA_SUCCESS)
		r = cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
	if (r == CUDA_SUCCESS && gpu.precision == ENGINE_BF16 && major < BF16_SINCE) {
		err_set(e, ERR_ABSENT, "%s (compute capability %d) does not compute in bf16",
			gpu.name, major);
		return err_hint(e, "--amp fp16");
	}
	if (r == CUDA_SUCCESS)
		r = cuDevicePrimaryCtxRetain(&gpu.context, dev);
	if (r == CUDA_SUCCESS)
		r = cuCtxSetCurrent(gpu.context);
	if (r == CUDA_SUCCESS)
		r = cuStreamCreate(&gpu.stream, CU_STREAM_NON_BLOCKING);
	if (r == CUDA_SUCCESS)
		r = cuStreamCreate(&gpu.copies, CU_STREAM_NON_BLOCKING);
	if (r == CUDA_SUCCESS)
		r = cuEventCreate(&gpu.mark, CU_EVENT_DISABLE_TIMING);
	if (r == CUDA_SUCCESS)
		return 0;
	(void)gpu_failed("opening the GPU", r, e);
	return driver_hint_taken(r, e);
}

void gpu_look(void) { note(cuStreamQuery(gpu.stream)); }

const char *gpu_dnn_words(cudnnStatus_t st, char *buf, size_t n)
{
	char more[200] = "";

	cudnnGetLastErrorString(more, sizeof(more));
	(void)snprintf(buf, n, "%s%s%.150s", cudnnGetErrorString(st), *more ? ": " : "", more);
	return buf;
}

static int open_cudnn(struct err *e)
{
	cudnnStatus_t st = cudnnCreate(&gpu.cudnn);
	char words[256];

	if (st == CUDNN_STATUS_SUCCESS)
		st = cudnnSetStream(gpu.cudnn, gpu.stream);
	if (st == CUDNN_STATUS_SUCCESS)
		return 0;
	err_set(e, ERR_SYS, "cuDNN (%s) does not start: %s", gpu.libs.cudnn_path,
		gpu_dnn_words(st, words, sizeof(words)));
	if (st == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH ||
	    st == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED)
		return err_hint(e,
				"its parts (libcudnn_ops, libcudnn_cnn ...) have to lie beside it "
				"and be of one version: install cuDNN again, and see whether "
				"LD_LIBRARY_PATH has others, which come first");
	return err_hint(e, "CUDNN_LOGLEVEL_DBG=3 ddpsmoke ... says more");
}

/* Sums are of float32 throughout, also where a product is cut in pieces that are 16 bits wide. */
static cublasMath_t math(void)
{
	return gpu.tf32 ? CUBLAS_TF32_TENSOR_OP_MATH
			: (cublasMath_t)(CUBLAS_DEFAULT_MATH |
					 CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
}

/* Workspace and stream of its own: the same product is the same bits each time. */
static int open_cublas(struct err *e)
{
	cublasStatus_t st = cublasCreate(&gpu.cublas);
	void *space = NULL;

	if (st == CUBLAS_STATUS_SUCCESS && gpu_alloc(CUBLAS_SPACE, &space, e))
		return -1;
	gpu.cublas_space = gpu_at(space);
	if (st == CUBLAS_STATUS_SUCCESS)
		st = cublasSetStream(gpu.cublas, gpu.stream);
	if (st == CUBLAS_STATUS_SUCCESS)
		st = cublasSetWorkspace(gpu.cublas, space, CUBLAS_SPACE);
	if (st == CUBLAS_STATUS_SUCCESS)
		st = cublasSetAtomicsMode(gpu.cublas, CUBLAS_ATOMICS_NOT_ALLOWED);
	if (st == CUBLAS_STATUS_SUCCESS)
		st = cublasSetMathMode(gpu.cublas, math());
	if (st == CUBLAS_STATUS_SUCCESS)
		(void)cublasGetVersion(gpu.cublas, &gpu.libs.cublas);
	if (st == CUBLAS_STATUS_SUCCESS)
		return 0;
	err_set(e, ERR_SYS, "cuBLAS (%s) does not start: %s", gpu.libs.cublas_path,
		cublasGetStatusString(st));
	return err_hint(e, "nvidia-smi shows whether the GPU has memory left");
}

/* Bound at its first call, which its address would not be. */
static CUresult load(CUmodule *ret, const void *image) { return cuModuleLoadData(ret, image); }

/* One stands for all of a module; over nothing. */
static CUresult use_kernels(void *arg UNUSED, CUmodule module)
{
	CUdeviceptr none = 0;
	uint32_t count = 0;
	CUfunction f;
	CUresult r = cuModuleGetFunction(&f, module, "find_strange");

	return r == CUDA_SUCCESS ? cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, gpu.stream,
						  GPU_ARGS(&none, &none, &count), NULL)
				 : r;
}

static int load_kernels(struct err *e)
{
	CUresult r =
		image_load(load, use_kernels, NULL, &gpu.module, IMAGE_OF(windsock_engine_kernels));
	void *found;

	if (r != CUDA_SUCCESS) {
		(void)gpu_failed("loading the engine's kernels", r, e);
		return driver_hint_kernels(gpu.libs.driver.version, r, e);
	}
	if (gpu_alloc(sizeof(uint32_t), &found, e))
		return -1;
	gpu.found = gpu_at(found);
	return 0;
}

int gpu_open(const struct engine_opts *o, char *ret, size_t n, struct err *e)
{
	const struct libraries *l = &gpu.libs;

	gpu.precision = o->precision;
	gpu.tf32 = o->tf32;
	gpu.deadline_ns = o->deadline_ns ? o->deadline_ns : WARMING * NS_PER_S;
	if (libraries_load(&gpu.libs, e) || open_device(o->local_rank % l->driver.gpus, e) ||
	    load_kernels(e) || open_cudnn(e) || open_cublas(e))
		return -1;
	(void)snprintf(ret, n,
		       "%s (GPU %d), %s%s; cuDNN %d.%d.%d (%s), cuBLAS %d.%d (%s), CUDA driver "
		       "%d.%d",
		       gpu.name, gpu.number, engine_words[gpu.precision],
		       gpu.tf32 ? " by TF32" : "", l->cudnn / 10000, l->cudnn / 100 % 100,
		       l->cudnn % 100, l->cudnn_path, l->cublas / 10000, l->cublas / 100 % 100,
		       l->cublas_path, l->driver.version / 1000, l->driver.version / 10 % 100);
	return gpu_wait(gpu.stream, NULL, "the GPU's first work", e);
}
