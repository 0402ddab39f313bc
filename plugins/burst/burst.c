/*
 * A second of work on each GPU: a product of matrices, whose every element is
 * known beforehand; copies within its memory; copies to and from the host. On
 * one GPU after the other: they share the host's memory, its switches and its
 * power.
 */
#include "plugins/burst/work.h"

#include "bench/plugin/image.h"
#include "lib/core/units.h"
#include "lib/host/cuda_start.h"
#include "lib/host/gpu.h"
#include "lib/host/memory.h"

#include <ctype.h>
#include <math.h>

IMAGE(windsock_burst_kernels, BURST_KERNELS)

enum { WARM_MS = 200, COMPUTE_MS = 700, COPY_MS = 150, GROUPS_MAX = 10000 };
enum { LOOK_MS = 5000, BETWEEN_LOOKS = 4 };
#define LEAST_FREE ((size_t)2 << 30)

bool work_failed(struct work *w, const char *what, CUresult r)
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

/* All kernels; the look at no cell loads what a lazy driver has not yet. */
static CUresult use_kernels(void *arg, CUmodule module)
{
	return product_find_kernels(arg, module);
}

static int open_gpu(struct work *w)
{
	TRY(w, retain, &w->context, w->device);
	TRY(w, use, w->context);
	TRY(w, stream, &w->stream, CU_STREAM_NON_BLOCKING);
	TRY(w, event, &w->from, CU_EVENT_DEFAULT);
	TRY(w, event, &w->to, CU_EVENT_DEFAULT);
	return work_failed(w, "module",
			   image_load(w->d->module, use_kernels, w, &w->module,
				      IMAGE_OF(windsock_burst_kernels)))
		       ? -1
		       : 0;
}

/* What is loaded from disks, and what it needs. */
static int prepare(struct work *w)
{
	size_t free_bytes = 0, all = 0;
	int integrated = 0;

	if (open_gpu(w))
		return -1;
	TRY(w, memory, &free_bytes, &all);
	if (!w->d->attribute(&integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, w->device) && integrated)
		free_bytes = memory_of_integrated(free_bytes);
	if (free_bytes < LEAST_FREE) {
		(void)snprintf(w->b->error, sizeof(w->b->error),
			       "only %zu MiB of its memory are free", free_bytes >> 20);
		return -1;
	}
	product_choose(w);
	return product_alloc(w) || copies_begin(w) || product_begin(w) ? -1 : 0;
}

/* Milliseconds of @n of them, by the GPU's own clock; below 0: it failed. */
static double timed(struct work *w, work_step *step, int n)
{
	float ms = 0;

	if (work_failed(w, "record", w->d->record(w->from, w->stream)))
		return -1;
	for (int i = 0; i < n; i++)
		if (step(w))
			return -1;
	if (work_failed(w, "record", w->d->record(w->to, w->stream)) ||
	    work_failed(w, "wait", w->d->wait(w->stream)) ||
	    work_failed(w, "elapsed", w->d->elapsed(&ms, w->from, w->to)))
		return -1;
	return (double)ms;
}

/* Seconds that one takes, over at least so many milliseconds; NAN: it failed. */
static double measure(struct work *w, work_step *step, double least_ms)
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

/* Goes on until whoever is told has looked at the GPU while it works, or takes too long for it. */
static void stay_at_it(struct work *w, work_step *step, const struct burst_ask *ask,
		       enum burst_moment m)
{
	uint64_t until = now_ns() + LOOK_MS * NS_PER_MS;

	while (!ask->is_seen(ask->arg, m) && now_ns() < until && timed(w, step, BETWEEN_LOOKS) >= 0)
		;
}

static void compute(struct work *w, const struct burst_ask *ask)
{
	double flops = 2 * pow(w->n, 3);

	if (isnan(measure(w, product_step, WARM_MS)))
		return;
	ask->tell(ask->arg, BURST_COMPUTES, w->b);
	w->b->matmul_tflops = flops / measure(w, product_step, COMPUTE_MS) / 1e12;
	stay_at_it(w, product_step, ask, BURST_COMPUTES);
}

static void copies(struct work *w, const struct burst_ask *ask)
{
	double bytes = (double)WORK_COPY_BYTES;

	if (isnan(measure(w, copies_in, COPY_MS))) /* wakes the link */
		return;
	ask->tell(ask->arg, BURST_COPIES, w->b);
	w->b->to_gpu_gbps = bytes / measure(w, copies_in, COPY_MS) / 1e9;
	stay_at_it(w, copies_in, ask, BURST_COPIES);
	w->b->memory_gbps = 2 * bytes / measure(w, copies_inside, COPY_MS) / 1e9;
	memset(w->host, 0, WORK_COPY_BYTES);
	w->b->from_gpu_gbps = bytes / measure(w, copies_out, COPY_MS) / 1e9;
	if (!w->b->error[0])
		copies_verify(w);
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
	compute(w, ask);
	if (!w->b->error[0])
		(void)product_verify(w);
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
			  .wrong = -1,
			  .copied_wrong = -1};
	struct work w = {.d = d, .blas = blas, .b = &b};

	if (work_failed(&w, "get", d->get(&w.device, number)) ||
	    work_failed(&w, "name", d->name(b.name, sizeof(b.name), w.device)) ||
	    work_failed(&w, "pci", d->pci(b.pci, sizeof(b.pci), w.device))) {
		ask->tell(ask->arg, BURST_DONE, &b);
		return;
	}
	for (char *c = b.pci; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!ask->wanted(ask->arg, b.pci))
		return;
	ask->tell(ask->arg, BURST_BEGINS, &b);
	if (!prepare(&w))
		work(&w, ask);
	close_gpu(&w);
	ask->tell(ask->arg, BURST_DONE, &b);
}

static int does_not_start(const struct driver *d, CUresult r, struct err *e)
{
	const char *text = NULL;
	char fix[sizeof(e->hint)];

	err_set(e, ERR_ABSENT, "CUDA does not start: %s (%d)",
		!d->error_string(r, &text) && text ? text : "an unknown error", (int)r);
	cuda_start_fix((int)r, *(void *const *)&d->init, fix, sizeof(fix));
	return err_take_fix(e, fix);
}

static int run(const struct burst_ask *ask, struct err *e)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	struct driver d = {0};
	struct blas blas = {0};
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
		return does_not_start(&d, r, e);
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
