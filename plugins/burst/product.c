/* A product of matrices, whose every element is known beforehand: by cuBLAS, or by our own kernel.
 */
#include "lib/core/units.h"
#include "plugins/burst/kinds.h"
#include "plugins/burst/work.h"

enum { SIDE_FP32 = 4096, SIDE_HALF = 8192, TILE = 64, BLOCK = 16, THREADS = 256, BLOCKS = 1024 };

static int launch_over_all(struct work *w, CUfunction f, void **args)
{
	TRY(w, launch, f, BLOCKS, 1, 1, THREADS, 1, 1, 0, w->stream, args, NULL);
	return 0;
}

CUresult product_find_kernels(struct work *w, CUmodule module)
{
	CUdeviceptr none = 0;
	unsigned rows = 0;
	void *args[] = {&none, &rows, &none};
	CUresult r = w->d->function(&w->product, module, "burst_product");

	if (r == CUDA_SUCCESS)
		r = w->d->function(&w->fill, module, "burst_fill");
	if (r == CUDA_SUCCESS)
		r = w->d->function(&w->wrong, module, "burst_wrong");
	if (r == CUDA_SUCCESS)
		r = w->d->launch(w->wrong, 1, 1, 1, THREADS, 1, 1, 0, w->stream, args, NULL);
	return r;
}

static void say_how(struct work *w)
{
	(void)snprintf(w->b->how, sizeof(w->b->how), "%s",
		       !w->blas	 ? "fp32"
		       : w->bf16 ? "cuBLAS bf16"
				 : "cuBLAS fp16");
}

/* cuBLAS wants tensor cores: compute capability 7 for fp16, 8 for bf16. */
void product_choose(struct work *w)
{
	int major = 0;

	if (w->blas &&
	    w->d->attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, w->device))
		major = 0;
	if (major < 7 || w->blas->create(&w->handle) || w->blas->set_stream(w->handle, w->stream))
		w->blas = NULL;
	w->bf16 = major >= 8;
	w->n = w->blas ? SIDE_HALF : SIDE_FP32;
	say_how(w);
}

static size_t at_least(size_t bytes) { return bytes > WORK_COPY_BYTES ? bytes : WORK_COPY_BYTES; }

int product_alloc(struct work *w)
{
	size_t cells = (size_t)w->n * (size_t)w->n, each = w->blas ? 2 : 4;

	TRY(w, alloc, &w->x, at_least(cells * each));
	TRY(w, alloc, &w->y, at_least(cells * each));
	TRY(w, alloc, &w->z, cells * 4);
	TRY(w, alloc, &w->count, sizeof(unsigned long long));
	return 0;
}

static int fill(struct work *w)
{
	unsigned rows = (unsigned)w->n;
	int kind = !w->blas ? KIND_FP32 : w->bf16 ? KIND_BF16 : KIND_FP16;
	void *args[] = {&w->x, &w->y, &rows, &kind};

	return launch_over_all(w, w->fill, args);
}

/* What is left of z is no result: not a number. */
static int clear(struct work *w)
{
	TRY(w, set32, w->z, 0xffffffff, (size_t)w->n * (size_t)w->n, w->stream);
	return 0;
}

/* cuBLAS counts columns first: to it y x is what x y is to us. 0, or its status. */
static int by_blas(struct work *w)
{
	return blas_product(w->blas, w->handle, w->y, w->x, w->z, w->n, w->bf16);
}

static int by_kernel(struct work *w)
{
	unsigned n = (unsigned)w->n, tiles = n / TILE;
	void *args[] = {&w->x, &w->y, &w->z, &n};

	TRY(w, launch, w->product, tiles, tiles, 1, BLOCK, BLOCK, 1, 0, w->stream, args, NULL);
	return 0;
}

int product_begin(struct work *w)
{
	if (fill(w))
		return -1;
	if (w->blas && by_blas(w)) { /* smaller matrices, in the same memory */
		w->blas = NULL;
		w->n = SIDE_FP32;
		say_how(w);
		if (fill(w))
			return -1;
	}
	if (product_step(w))
		return -1;
	TRY(w, wait, w->stream);
	return 0;
}

int product_step(struct work *w)
{
	int status = w->blas ? by_blas(w) : by_kernel(w);

	if (status && w->blas)
		(void)snprintf(w->b->error, sizeof(w->b->error), "cuBLAS: status %d", status);
	return status ? -1 : 0;
}

static int count_wrong(struct work *w, int64_t *ret)
{
	unsigned rows = (unsigned)w->n;
	unsigned long long bad = 0;
	void *args[] = {&w->z, &rows, &w->count};

	TRY(w, set32, w->count, 0, sizeof(bad) / 4, w->stream);
	if (launch_over_all(w, w->wrong, args))
		return -1;
	TRY(w, from_gpu, &bad, w->count, sizeof(bad), w->stream);
	TRY(w, wait, w->stream);
	*ret = (int64_t)bad;
	return 0;
}

/* The last one of those under load, and one into memory that did not have the result before. */
int product_verify(struct work *w)
{
	int64_t loaded, alone;

	if (count_wrong(w, &loaded) || clear(w) || product_step(w) || count_wrong(w, &alone))
		return -1;
	w->b->wrong = loaded > alone ? loaded : alone;
	return 0;
}
