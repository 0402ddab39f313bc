/*
 * A second of work on each GPU: a product of matrices, whose every element is
 * known beforehand; copies within its memory; copies to and from the host. On
 * one GPU after the other: they share the host's memory, its switches and its
 * power.
 */
#include "lib/host/burst.h"

#include "bench/plugin/image.h"
#include "lib/core/units.h"
#include "lib/host/gpu.h"
#include "plugins/burst/driver.h"

#include <ctype.h>
#include <math.h>

IMAGE(windsock_burst_kernels, BURST_KERNELS)

enum { SIDE_FP32 = 4096, SIDE_HALF = 8192, TILE = 64, BLOCK = 16, THREADS = 256, BLOCKS = 1024 };
enum { WARM_MS = 200, COMPUTE_MS = 700, COPY_MS = 150, GROUPS_MAX = 10000 };
#define COPY_BYTES ((size_t)256 << 20)
#define LEAST_FREE ((size_t)2 << 30)
enum { BF16_ONES = 0x3f803f80, FP16_ONES = 0x3c003c00, FP32_ONE = 0x3f800000 };

struct work {
	const struct driver *d;
	const struct blas *blas; /* NULL: our own kernel */
	struct burst *b;
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUevent from, to;
	CUmodule module;
	CUfunction product, wrong;
	CUdeviceptr x, y, z, count;
	void *handle, *host;
	int n;
	bool bf16;
};

static bool failed(struct work *w, const char *what, CUresult r)
{
	const char *text = NULL;

	if (r == CUDA_SUCCESS)
		return false;
	if (!w->b->error[0])
		(void)snprintf(w->b->error, sizeof(w->b->error), "%s: %s (%d)", what,
			       !w->d->error_string(r, &text) && text ? text : "an unknown error",
			       (int)r);
	return true;
}
#define TRY(w, fn, ...)                                                                            \
	do {                                                                                       \
		if (failed(w, #fn, (w)->d->fn(__VA_ARGS__)))                                       \
			return -1;                                                                 \
	} while (0)

/* Both kernels; the look at no cell loads what a lazy driver has not yet. */
static CUresult use_kernels(void *arg, CUmodule module)
{
	struct work *w = arg;
	CUdeviceptr none = 0;
	unsigned long cells = 0;
	float right = 0;
	void *args[] = {&none, &right, &cells, &none};
	CUresult r = w->d->function(&w->product, module, "burst_product");

	if (r == CUDA_SUCCESS)
		r = w->d->function(&w->wrong, module, "burst_wrong");
	if (r == CUDA_SUCCESS)
		r = w->d->launch(w->wrong, 1, 1, 1, THREADS, 1, 1, 0, w->stream, args, NULL);
	return r;
}

static int open_gpu(struct work *w)
{
	TRY(w, retain, &w->context, w->device);
	TRY(w, use, w->context);
	TRY(w, stream, &w->stream, CU_STREAM_NON_BLOCKING);
	TRY(w, event, &w->from, CU_EVENT_DEFAULT);
	TRY(w, event, &w->to, CU_EVENT_DEFAULT);
	return failed(w, "module",
		      image_load(w->d->module, use_kernels, w, &w->module,
				 IMAGE_OF(windsock_burst_kernels)))
		       ? -1
		       : 0;
}

/* cuBLAS wants tensor cores: compute capability 7 for fp16, 8 for bf16. */
static void choose(struct work *w)
{
	int major = 0;

	if (w->blas &&
	    w->d->attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, w->device))
		major = 0;
	if (major < 7 || w->blas->create(&w->handle) || w->blas->set_stream(w->handle, w->stream))
		w->blas = NULL;
	w->bf16 = major >= 8;
	w->n = w->blas ? SIDE_HALF : SIDE_FP32;
	(void)snprintf(w->b->how, sizeof(w->b->how), "%s",
		       !w->blas	 ? "fp32"
		       : w->bf16 ? "cuBLAS bf16"
				 : "cuBLAS fp16");
}

static int prepare(struct work *w)
{
	size_t cells = (size_t)w->n * (size_t)w->n, words = w->blas ? cells / 2 : cells;
	size_t free_bytes = 0, all = 0;

	TRY(w, memory, &free_bytes, &all);
	if (free_bytes < LEAST_FREE) {
		(void)snprintf(w->b->error, sizeof(w->b->error),
			       "only %zu MiB of its memory are free", free_bytes >> 20);
		return -1;
	}
	TRY(w, alloc, &w->x, words * 4 > COPY_BYTES ? words * 4 : COPY_BYTES);
	TRY(w, alloc, &w->y, words * 4 > COPY_BYTES ? words * 4 : COPY_BYTES);
	TRY(w, alloc, &w->z, cells * 4);
	TRY(w, alloc, &w->count, sizeof(unsigned long long));
	TRY(w, alloc_host, &w->host, COPY_BYTES);
	return 0;
}

static int fill(struct work *w)
{
	size_t cells = (size_t)w->n * (size_t)w->n, words = w->blas ? cells / 2 : cells;
	unsigned value = !w->blas ? FP32_ONE : w->bf16 ? BF16_ONES : FP16_ONES;

	TRY(w, set32, w->x, value, words, w->stream);
	TRY(w, set32, w->y, value, words, w->stream);
	TRY(w, set32, w->z, 0, cells, w->stream);
	TRY(w, wait, w->stream);
	return 0;
}

static int multiply(struct work *w)
{
	unsigned n = (unsigned)w->n, tiles = n / TILE;
	void *args[] = {&w->x, &w->y, &w->z, &n};
	int status;

	if (!w->blas) {
		TRY(w, launch, w->product, tiles, tiles, 1, BLOCK, BLOCK, 1, 0, w->stream, args,
		    NULL);
		return 0;
	}
	status = blas_product(w->blas, w->handle, w->x, w->y, w->z, w->n, w->bf16);
	if (status)
		(void)snprintf(w->b->error, sizeof(w->b->error), "cuBLAS: status %d", status);
	return status ? -1 : 0;
}

static int copy_inside(struct work *w)
{
	TRY(w, inside, w->y, w->x, COPY_BYTES, w->stream);
	return 0;
}
static int copy_in(struct work *w)
{
	TRY(w, to_gpu, w->x, w->host, COPY_BYTES, w->stream);
	return 0;
}
static int copy_out(struct work *w)
{
	TRY(w, from_gpu, w->host, w->x, COPY_BYTES, w->stream);
	return 0;
}

/* Milliseconds of @n of them, by the GPU's own clock; below 0: it failed. */
static double timed(struct work *w, int (*step)(struct work *w), int n)
{
	float ms = 0;

	if (failed(w, "record", w->d->record(w->from, w->stream)))
		return -1;
	for (int i = 0; i < n; i++)
		if (step(w))
			return -1;
	if (failed(w, "record", w->d->record(w->to, w->stream)) ||
	    failed(w, "wait", w->d->wait(w->stream)) ||
	    failed(w, "elapsed", w->d->elapsed(&ms, w->from, w->to)))
		return -1;
	return (double)ms;
}

/* Seconds that one takes, over at least so many milliseconds; NAN: it failed. */
static double measure(struct work *w, int (*step)(struct work *w), double least_ms)
{
	double ms = 0, one = timed(w, step, 1), n = 0;
	int group;

	if (!(one >= 0))
		return NAN;
	one = fmax(one, 1e-3);
	group = (int)fmin(fmax(least_ms / 8 / one, 1), 1000);
	for (int i = 0; i < GROUPS_MAX && ms < least_ms; i++) {
		double now = timed(w, step, group);

		if (!(now >= 0))
			return NAN;
		ms += now;
		n += group;
	}
	return ms > 0 ? ms / n / 1e3 : NAN;
}

static void compute(struct work *w, const struct burst_ask *ask)
{
	double flops = 2 * pow(w->n, 3);

	if (isnan(measure(w, multiply, WARM_MS)))
		return;
	ask->tell(ask->arg, BURST_COMPUTES, w->b);
	w->b->matmul_tflops = flops / measure(w, multiply, COMPUTE_MS) / 1e12;
}

static int verify(struct work *w)
{
	unsigned long cells = (unsigned long)w->n * (unsigned long)w->n;
	unsigned long long bad = 0;
	float right = (float)w->n;
	void *args[] = {&w->z, &right, &cells, &w->count};

	TRY(w, set32, w->count, 0, sizeof(bad) / 4, w->stream);
	TRY(w, launch, w->wrong, BLOCKS, 1, 1, THREADS, 1, 1, 0, w->stream, args, NULL);
	TRY(w, from_gpu, &bad, w->count, sizeof(bad), w->stream);
	TRY(w, wait, w->stream);
	w->b->wrong = (int64_t)bad;
	return 0;
}

static void copies(struct work *w, const struct burst_ask *ask)
{
	double bytes = (double)COPY_BYTES;

	w->b->memory_gbps = 2 * bytes / measure(w, copy_inside, COPY_MS) / 1e9;
	if (isnan(measure(w, copy_in, COPY_MS))) /* wakes the link */
		return;
	ask->tell(ask->arg, BURST_COPIES, w->b);
	w->b->to_gpu_gbps = bytes / measure(w, copy_in, COPY_MS) / 1e9;
	w->b->from_gpu_gbps = bytes / measure(w, copy_out, COPY_MS) / 1e9;
}

static void close_gpu(struct work *w)
{
	const CUdeviceptr all[] = {w->x, w->y, w->z, w->count};

	if (w->handle && w->blas)
		(void)w->blas->destroy(w->handle);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i])
			(void)w->d->free(all[i]);
	if (w->host)
		(void)w->d->free_host(w->host);
	if (w->from)
		(void)w->d->event_end(w->from);
	if (w->to)
		(void)w->d->event_end(w->to);
	if (w->stream)
		(void)w->d->stream_end(w->stream);
	if (w->context)
		(void)w->d->release(w->device);
}

static void work(struct work *w, const struct burst_ask *ask)
{
	ask->tell(ask->arg, BURST_READY, w->b);
	if (fill(w))
		return;
	compute(w, ask);
	if (!w->b->error[0])
		(void)verify(w);
	if (!w->b->error[0])
		copies(w, ask);
}

static void one_gpu(const struct driver *d, const struct blas *blas, int number,
		    const struct burst_ask *ask)
{
	struct burst b = {.number = number,
			  .matmul_tflops = NAN,
			  .memory_gbps = NAN,
			  .to_gpu_gbps = NAN,
			  .from_gpu_gbps = NAN,
			  .wrong = -1};
	struct work w = {.d = d, .blas = blas, .b = &b};

	if (failed(&w, "get", d->get(&w.device, number)) ||
	    failed(&w, "name", d->name(b.name, sizeof(b.name), w.device)) ||
	    failed(&w, "pci", d->pci(b.pci, sizeof(b.pci), w.device))) {
		ask->tell(ask->arg, BURST_DONE, &b);
		return;
	}
	for (char *c = b.pci; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!ask->wanted(ask->arg, b.pci))
		return;
	ask->tell(ask->arg, BURST_BEGINS, &b);
	if (!open_gpu(&w)) {
		choose(&w);
		if (!prepare(&w))
			work(&w, ask);
	}
	close_gpu(&w);
	ask->tell(ask->arg, BURST_DONE, &b);
}

static int run(const struct burst_ask *ask, struct err *e)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	struct driver d = {0};
	struct blas blas = {0};
	const char *text = NULL;
	bool has_blas;
	CUresult r;
	int n = 0, cuda = 0;

	if (driver_load(&d, e))
		return -1;
	r = d.init(0);
	if (r == CUDA_SUCCESS)
		r = d.count(&n);
	if (r == CUDA_ERROR_NO_DEVICE && gpu_are_hidden(visible))
		return err_set(e, ERR_USAGE, "CUDA_VISIBLE_DEVICES='%.100s' hides them from CUDA",
			       visible);
	if (r == CUDA_ERROR_NO_DEVICE && visible)
		return err_set(e, ERR_ABSENT, "CUDA shows none of CUDA_VISIBLE_DEVICES='%.100s'",
			       visible);
	if (r != CUDA_SUCCESS)
		return err_set(e, ERR_ABSENT, "CUDA does not start: %s (%d)",
			       !d.error_string(r, &text) && text ? text : "an unknown error",
			       (int)r);
	if (d.version(&cuda) != CUDA_SUCCESS)
		cuda = 0;
	has_blas = blas_load(&blas, cuda);
	for (int i = ask->first; i < n; i++)
		one_gpu(&d, has_blas ? &blas : NULL, i, ask);
	return 0;
}

__attribute__((visibility("default"))) const struct burst_plugin windsock_burst = {
	.version = BURST_VERSION,
	.run = run,
};
