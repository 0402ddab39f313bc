/* Buffers are filled and compared where they are: one period of the pattern travels there. */
#include "bench/plugin/image.h"
#include "bench/plugin/nccl/cuda.h"

enum { THREADS = 256, BLOCKS_MAX = 4096, TABLE_BYTES = PATTERN_PERIOD * 8 };

IMAGE(windsock_kernels, KERNELS)

static unsigned blocks(size_t n)
{
	size_t b = (n + THREADS - 1) / THREADS;

	return b > BLOCKS_MAX ? BLOCKS_MAX : (unsigned)b;
}

static int launch(struct gpu_dev *g, CUfunction f, size_t n, void **args)
{
	CUresult r = cuLaunchKernel(f, blocks(n), 1, 1, THREADS, 1, 1, 0, g->stream, args, NULL);

	gpu_note(g, "cuLaunchKernel", r);
	return r == CUDA_SUCCESS ? 0 : -1;
}

static int send_table(struct gpu_dev *g, const struct pattern *pattern)
{
	char values[TABLE_BYTES];
	CUresult r;

	pattern_values(pattern, PATTERN_PERIOD, values);
	r = gpu_send(g, g->table, values, PATTERN_PERIOD * dtype_size(pattern->type));
	gpu_note(g, "cuMemcpyHtoD", r);
	return r == CUDA_SUCCESS ? 0 : -1;
}

void gpu_clear(struct dev *d, void *p, size_t n)
{
	struct gpu_dev *g = gpu_of(d);

	if (n && !d->is_lost)
		gpu_note(g, "cuMemsetD8", cuMemsetD8Async(gpu_at(p), 0xa5, n, g->stream));
}

void gpu_fill(struct dev *d, void *p, const struct pattern *pattern, size_t from, size_t n)
{
	struct gpu_dev *g = gpu_of(d);
	unsigned long first = from % PATTERN_PERIOD, period = PATTERN_PERIOD, count = n;
	unsigned size = (unsigned)dtype_size(pattern->type);
	CUdeviceptr to = gpu_at(p);
	void *args[] = {&to, &g->table, &first, &period, &count, &size};

	if (n && !send_table(g, pattern))
		(void)launch(g, g->fill, n, args);
}

/* NCCL averages floats by multiplying before it adds: the last bits may differ. */
static int tolerance(const struct pattern *p)
{
	static const int kinds[DT_COUNT] = {[DT_HALF] = 1,   [DT_BFLOAT16] = 2, [DT_FLOAT] = 3,
					    [DT_DOUBLE] = 4, [DT_F8E4M3] = 5,	[DT_F8E5M2] = 6};

	return p->op == OP_AVG && p->rank < 0 ? kinds[p->type] : 0;
}

/* WINDSOCK_CORRUPT: does anybody notice a wrong bit? One that was right is turned over. */
static void corrupt(struct gpu_dev *g, const void *p)
{
	unsigned char byte;

	if (!getenv("WINDSOCK_CORRUPT") || gpu_fetch(g, &byte, gpu_at(p), 1) != CUDA_SUCCESS)
		return;
	byte ^= 0x40;
	(void)gpu_send(g, gpu_at(p), &byte, 1);
}

size_t gpu_wrong(struct dev *d, const void *p, const struct pattern *pattern, size_t from, size_t n)
{
	struct gpu_dev *g = gpu_of(d);
	unsigned long first = from % PATTERN_PERIOD, period = PATTERN_PERIOD, count = n;
	unsigned size = (unsigned)dtype_size(pattern->type);
	int kind = tolerance(pattern);
	CUdeviceptr is = gpu_at(p);
	unsigned long long bad = 0;
	void *args[] = {&is, &g->table, &first, &period, &count, &size, &kind, &g->count};

	if (!n)
		return 0;
	corrupt(g, p);
	if (send_table(g, pattern) || gpu_send(g, g->count, &bad, sizeof(bad)) != CUDA_SUCCESS ||
	    launch(g, g->wrong, n, args) ||
	    gpu_fetch(g, &bad, g->count, sizeof(bad)) != CUDA_SUCCESS)
		return n; /* what cannot be compared is not right */
	return (size_t)bad;
}

/* Bound at its first call, which its address would not be. */
static CUresult load(CUmodule *ret, const void *image) { return cuModuleLoadData(ret, image); }

/* Both kernels; filling nothing loads what a lazy driver has not yet. */
static CUresult use_kernels(void *arg, CUmodule module)
{
	struct gpu_dev *g = arg;
	CUdeviceptr none = 0;
	unsigned long first = 0, period = PATTERN_PERIOD, count = 0;
	unsigned size = 1;
	void *args[] = {&none, &none, &first, &period, &count, &size};
	CUresult r = cuModuleGetFunction(&g->fill, module, "windsock_fill");

	if (r == CUDA_SUCCESS)
		r = cuModuleGetFunction(&g->wrong, module, "windsock_wrong");
	if (r == CUDA_SUCCESS)
		r = cuLaunchKernel(g->fill, 1, 1, 1, THREADS, 1, 1, 0, g->stream, args, NULL);
	return r;
}

int gpu_load_kernels(struct gpu_dev *g, struct err *e)
{
	CUresult r = image_load(load, use_kernels, g, &g->module, IMAGE_OF(windsock_kernels));

	if (r == CUDA_SUCCESS)
		r = cuMemAlloc(&g->table, TABLE_BYTES);
	if (r == CUDA_SUCCESS)
		r = cuMemAlloc(&g->count, sizeof(unsigned long long));
	if (r == CUDA_SUCCESS)
		return 0;
	(void)cuda_failed("cannot load the kernels that fill and verify buffers", r, e);
	return driver_hint_kernels(g->vendor.driver.version, r, e);
}
