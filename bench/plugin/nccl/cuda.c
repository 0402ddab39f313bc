#include "bench/plugin/nccl/cuda.h"

#include "bench/plugin/nccl/newer.h"

enum { THREADS = 256, BLOCKS_MAX = 4096, TABLE_BYTES = PATTERN_PERIOD * 8 };

/* What nvcc made of kernels.cu: code for some GPUs, and PTX for those to come. */
__asm__(".section .rodata\n"
	".balign 16\n"
	".globl windsock_kernels\n"
	".hidden windsock_kernels\n"
	"windsock_kernels: .incbin \"" KERNELS "\"\n"
	".byte 0\n"
	".previous\n");
extern const char windsock_kernels[];

static CUdeviceptr at(const void *p) { return (CUdeviceptr)(uintptr_t)p; }

static int use(struct gpu_dev *g) { return cuCtxSetCurrent(g->context) == CUDA_SUCCESS ? 0 : -1; }

static void note_failure(struct gpu_dev *g, const char *what, CUresult r)
{
	if (r != CUDA_SUCCESS && !g->failure.kind)
		(void)cuda_failed(what, r, &g->failure);
}

/* What can be registered is memory that NCCL chose itself. */
static int get_memory(struct gpu_dev *g, size_t n, void **ret, struct err *e)
{
	CUdeviceptr p = 0;
	const char *why;

	if (g->registers) {
		ncclResult_t r = use(g) ? ncclInvalidUsage : newer_mem_alloc(ret, n ? n : 1);

		why = r == ncclSuccess ? NULL : ncclGetErrorString(r);
	} else {
		CUresult r = use(g) ? CUDA_ERROR_INVALID_CONTEXT : cuMemAlloc(&p, n ? n : 1);

		why = r == CUDA_SUCCESS ? NULL : cuda_words(r);
		*ret = (void *)(uintptr_t)p;
	}
	return why ? err_set(e, ERR_SYS, "no %zu MiB of GPU memory for a buffer: %s", n >> 20, why)
		   : 0;
}

static void put_memory(struct gpu_dev *g, void *p)
{
	if (g->registers)
		newer_mem_free(p);
	else
		(void)cuMemFree(at(p));
}

static int alloc(struct dev *d, size_t n, void **ret, struct err *e)
{
	struct gpu_dev *g = gpu_of(d);
	void *p;

	if (get_memory(g, n, &p, e))
		return -1;
	for (size_t i = 0; i < GPU_PIECES; i++)
		if (!g->pieces[i].p) {
			g->pieces[i] = (struct gpu_piece){.p = p, .n = n};
			*ret = p;
			return 0;
		}
	put_memory(g, p);
	return err_set(e, ERR_SYS, "more than %d buffers on a GPU", GPU_PIECES);
}

struct gpu_piece *gpu_piece_at(struct gpu_dev *g, const void *p)
{
	for (size_t i = 0; i < GPU_PIECES && p; i++)
		if (g->pieces[i].p == p)
			return &g->pieces[i];
	return NULL;
}

static void release(struct dev *d, void *p)
{
	struct gpu_piece *piece = gpu_piece_at(gpu_of(d), p);

	if (!piece)
		return;
	*piece = (struct gpu_piece){0};
	put_memory(gpu_of(d), p);
}

bool gpu_owns(const struct gpu_dev *g, const void *p)
{
	for (size_t i = 0; i < GPU_PIECES; i++)
		if (g->pieces[i].p && (const char *)p >= g->pieces[i].p &&
		    (const char *)p < g->pieces[i].p + g->pieces[i].n)
			return true;
	return false;
}

static void clear(struct dev *d, void *p, size_t n)
{
	if (n)
		note_failure(gpu_of(d), "cuMemsetD8", cuMemsetD8(at(p), 0xa5, n));
}

static unsigned blocks(size_t n)
{
	size_t b = (n + THREADS - 1) / THREADS;

	return b > BLOCKS_MAX ? BLOCKS_MAX : (unsigned)b;
}

static int launch(struct gpu_dev *g, CUfunction f, size_t n, void **args)
{
	CUresult r = cuLaunchKernel(f, blocks(n), 1, 1, THREADS, 1, 1, 0, g->stream, args, NULL);

	note_failure(g, "cuLaunchKernel", r);
	return r == CUDA_SUCCESS ? 0 : -1;
}

static int send_table(struct gpu_dev *g, const struct pattern *pattern)
{
	char values[TABLE_BYTES];
	CUresult r;

	pattern_values(pattern, PATTERN_PERIOD, values);
	r = cuMemcpyHtoD(g->table, values, PATTERN_PERIOD * dtype_size(pattern->type));
	note_failure(g, "cuMemcpyHtoD", r);
	return r == CUDA_SUCCESS ? 0 : -1;
}

static void fill(struct dev *d, void *p, const struct pattern *pattern, size_t from, size_t n)
{
	struct gpu_dev *g = gpu_of(d);
	unsigned long first = from % PATTERN_PERIOD, period = PATTERN_PERIOD, count = n;
	unsigned size = (unsigned)dtype_size(pattern->type);
	CUdeviceptr to = at(p);
	void *args[] = {&to, &g->table, &first, &period, &count, &size};

	if (!n || send_table(g, pattern) || launch(g, g->fill, n, args))
		return;
	note_failure(g, "cuStreamSynchronize",
		     cuStreamSynchronize(g->stream)); /* the table is used again */
}

/* NCCL averages floats by multiplying before it adds: the last bits may differ. */
static int tolerance(const struct pattern *p)
{
	static const int kinds[DT_COUNT] = {
		[DT_HALF] = 1, [DT_BFLOAT16] = 2, [DT_FLOAT] = 3, [DT_DOUBLE] = 4};

	return p->op == OP_AVG && p->rank < 0 ? kinds[p->type] : 0;
}

/* WINDSOCK_CORRUPT: does anybody notice a wrong bit? One that was right is turned over. */
static void corrupt(void *p)
{
	unsigned char byte;

	if (!getenv("WINDSOCK_CORRUPT") || cuMemcpyDtoH(&byte, at(p), 1) != CUDA_SUCCESS)
		return;
	byte ^= 0x40;
	(void)cuMemcpyHtoD(at(p), &byte, 1);
}

static size_t wrong(struct dev *d, const void *p, const struct pattern *pattern, size_t from,
		    size_t n)
{
	struct gpu_dev *g = gpu_of(d);
	unsigned long first = from % PATTERN_PERIOD, period = PATTERN_PERIOD, count = n;
	unsigned size = (unsigned)dtype_size(pattern->type);
	int kind = tolerance(pattern);
	CUdeviceptr is = at(p);
	unsigned long long bad = 0;
	void *args[] = {&is, &g->table, &first, &period, &count, &size, &kind, &g->count};

	if (!n)
		return 0;
	corrupt((void *)(uintptr_t)p);
	if (send_table(g, pattern) || cuMemcpyHtoD(g->count, &bad, sizeof(bad)) != CUDA_SUCCESS ||
	    launch(g, g->wrong, n, args) || cuStreamSynchronize(g->stream) != CUDA_SUCCESS ||
	    cuMemcpyDtoH(&bad, g->count, sizeof(bad)) != CUDA_SUCCESS)
		return n; /* what cannot be compared is not right */
	return (size_t)bad;
}

static int sync_gpu(struct dev *d, struct err *e)
{
	struct gpu_dev *g = gpu_of(d);

	note_failure(g, "cuStreamSynchronize", cuStreamSynchronize(g->stream));
	*e = g->failure;
	return g->failure.kind ? -1 : 0;
}

static void *stream_of(struct dev *d) { return gpu_of(d)->stream; }

static int open_gpu(struct gpu_dev *g, struct err *e)
{
	CUdevice dev;
	CUuuid uuid;
	CUresult r = cuDeviceGet(&dev, g->number);

	if (r == CUDA_SUCCESS)
		r = cuDeviceGetName(g->name, sizeof(g->name), dev);
	if (r == CUDA_SUCCESS)
		r = cuDeviceGetUuid(&uuid, dev);
	if (r == CUDA_SUCCESS)
		r = cuDevicePrimaryCtxRetain(&g->context, dev);
	if (r == CUDA_SUCCESS)
		r = cuCtxSetCurrent(g->context);
	if (r == CUDA_SUCCESS)
		r = cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING);
	if (r != CUDA_SUCCESS)
		return cuda_failed("cannot use the GPU", r, e);
	for (size_t i = 0; i < sizeof(uuid.bytes); i++)
		(void)snprintf(g->uuid + i * 2, 3, "%02x", (unsigned char)uuid.bytes[i]);
	return 0;
}

static int load_kernels(struct gpu_dev *g, struct err *e)
{
	CUresult r = cuModuleLoadData(&g->module, windsock_kernels);

	if (r == CUDA_SUCCESS)
		r = cuModuleGetFunction(&g->fill, g->module, "windsock_fill");
	if (r == CUDA_SUCCESS)
		r = cuModuleGetFunction(&g->wrong, g->module, "windsock_wrong");
	if (r == CUDA_SUCCESS)
		r = cuMemAlloc(&g->table, TABLE_BYTES);
	if (r == CUDA_SUCCESS)
		r = cuMemAlloc(&g->count, sizeof(unsigned long long));
	if (r != CUDA_SUCCESS)
		return cuda_failed("cannot load the kernels that fill and verify buffers", r, e);
	return 0;
}

int gpu_dev_new(const struct comm_world *w, struct gpu_dev **ret, struct err *e)
{
	struct gpu_dev *g = calloc(1, sizeof(*g));

	if (!g)
		return err_sys(e, "no memory for a device");
	g->dev = (struct dev){.alloc = alloc,
			      .free = release,
			      .clear = clear,
			      .fill = fill,
			      .wrong = wrong,
			      .sync = sync_gpu,
			      .stream = stream_of};
	if (vendor_load(w->library, &g->vendor, e)) {
		free(g);
		return -1;
	}
	g->registers = w->registers;
	if (g->registers && newer_register_needs(&g->vendor, g->registers, e)) {
		free(g);
		return -1;
	}
	g->number = w->local_rank % g->vendor.gpus;
	g->shared = w->local_size > g->vendor.gpus;
	g->dev.kind = g->name;
	if (!open_gpu(g, e) && !load_kernels(g, e)) {
		*ret = g;
		return 0;
	}
	gpu_dev_free(g);
	return -1;
}

void gpu_dev_free(struct gpu_dev *g)
{
	if (!g)
		return;
	if (g->table)
		(void)cuMemFree(g->table);
	if (g->count)
		(void)cuMemFree(g->count);
	if (g->stream)
		(void)cuStreamDestroy(g->stream);
	free(g); /* the primary context goes with the process: NCCL's may be in it */
}
