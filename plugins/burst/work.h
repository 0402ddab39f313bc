#ifndef PLUGINS_BURST_WORK_H
#define PLUGINS_BURST_WORK_H
/* Private to this folder: the work on one GPU, and the steps of which it is made. */
#include "lib/host/burst.h"
#include "plugins/burst/driver.h"

#define WORK_COPY_BYTES ((size_t)256 << 20)

struct work {
	const struct driver *d;
	const struct blas *blas; /* NULL: our own kernel */
	struct burst *b;	 /* a call that fails is told in its error */
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUevent from, to;
	CUmodule module;
	CUfunction fill, product, wrong;
	CUdeviceptr x, y, z, count;
	void *handle, *host;
	int n; /* of the matrices' rows */
	bool bf16;
};

bool work_failed(struct work *w, const char *what, CUresult r);
#define TRY(w, fn, ...)                                                                            \
	do {                                                                                       \
		if (work_failed(w, #fn, (w)->d->fn(__VA_ARGS__)))                                  \
			return -1;                                                                 \
	} while (0)

/* One of what is timed; it does not wait. -1: it failed. */
typedef int work_step(struct work *w);

/* --- product.c: a product of matrices of which every element is known --- */
CUresult product_find_kernels(struct work *w, CUmodule module);
void product_choose(struct work *w); /* by whom it is computed */
int product_alloc(struct work *w);
/* Fills them, and computes one: cuBLAS may not know this GPU, and then our kernel does it. */
int product_begin(struct work *w);
work_step product_step;
int product_verify(struct work *w);

/* --- copies.c: from the host, within the GPU, and back; in this order they can be compared --- */
int copies_begin(struct work *w);
work_step copies_in, copies_inside, copies_out;
/* After all of them. */
void copies_verify(struct work *w);

#endif
