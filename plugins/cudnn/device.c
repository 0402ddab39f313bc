/* What stays in the GPU's memory from step to step, and the optimizer's step there. */
#include "plugins/cudnn/parts.h"

enum { PIECES = 16 };
static struct piece {
	float *p;
	size_t n;
	bool is_ours;
} pieces[PIECES]; /* what alloc() gave, and what was adopted */

bool device_has(const float *p)
{
	for (size_t i = 0; i < PIECES; i++)
		if (pieces[i].p && p >= pieces[i].p && p < pieces[i].p + pieces[i].n)
			return true;
	return false;
}

static int find(struct err *e) { return libraries_load(&gpu.libs, e); }

static int adopt(float *p, size_t floats, struct err *e)
{
	for (size_t i = 0; i < PIECES; i++)
		if (!pieces[i].p) {
			pieces[i] = (struct piece){.p = p, .n = floats};
			return 0;
		}
	return err_set(e, ERR_SYS, "more than %d arrays on a GPU", PIECES);
}

static int device_alloc(size_t floats, float **ret, struct err *e)
{
	void *p;

	if (gpu_current(e) || gpu_alloc(floats * sizeof(float), &p, e))
		return -1;
	if (adopt(p, floats, e)) {
		gpu_free(p);
		return -1;
	}
	for (size_t i = 0; i < PIECES; i++)
		pieces[i].is_ours |= pieces[i].p == p;
	*ret = p;
	return 0;
}

static void device_free(float *p)
{
	for (size_t i = 0; i < PIECES && p; i++)
		if (pieces[i].p == p) {
			if (pieces[i].is_ours)
				gpu_free(p);
			pieces[i] = (struct piece){0};
		}
}

static int put(float *to, const float *from, size_t n, struct err *e)
{
	return gpu_current(e) || gpu_send(to, from, n * sizeof(float), e) ||
			       gpu_wait(gpu.stream, NULL, "sending parameters", e)
		       ? -1
		       : 0;
}

static int get(float *to, const float *from, size_t n, struct err *e)
{
	return gpu_current(e) || gpu_wait(gpu.stream, NULL, "the work so far", e) ||
			       gpu_fetch(to, from, n * sizeof(float), gpu.stream, e) ||
			       gpu_wait(gpu.stream, NULL, "fetching parameters", e)
		       ? -1
		       : 0;
}

static int order(CUstream first, CUstream then, struct err *e)
{
	CUresult r;

	if (gpu_current(e))
		return -1;
	r = cuEventRecord(gpu.mark, first);
	if (r == CUDA_SUCCESS)
		r = cuStreamWaitEvent(then, gpu.mark, 0);
	return r == CUDA_SUCCESS ? 0 : gpu_failed("ordering two streams", r, e);
}

static int before(void *stream, struct err *e) { return order(gpu.stream, stream, e); }
static int after(void *stream, struct err *e) { return order(stream, gpu.stream, e); }

static int sgd(size_t n, float *p, float *v, const float *g, struct sgd s, struct err *e)
{
	uint32_t count = (uint32_t)n;

	return gpu_current(e)
		       ? -1
		       : gpu_launch(e, "sgd", count,
				    GPU_ARGS(&p, &v, &g, &count, &s.lr, &s.momentum, &s.decay));
}

static int watch(const float *p, size_t n, struct err *e)
{
	uint32_t count = (uint32_t)n;

	return gpu_current(e)
		       ? -1
		       : gpu_launch(e, "find_strange", count, GPU_ARGS(&gpu.found, &p, &count));
}

static int is_finite(bool *ret, struct err *e)
{
	uint32_t found = 0;
	CUresult r;

	if (gpu_current(e) || gpu_wait(gpu.stream, NULL, "looking for infinite gradients", e) ||
	    gpu_fetch(&found, (void *)(uintptr_t)gpu.found, sizeof(found), gpu.stream, e) ||
	    gpu_wait(gpu.stream, NULL, "looking for infinite gradients", e))
		return -1;
	r = cuMemsetD8Async(gpu.found, 0, sizeof(found), gpu.stream);
	*ret = !found;
	return r == CUDA_SUCCESS ? 0 : gpu_failed("cuMemsetD8", r, e);
}

static bool is_scaled(void) { return gpu.precision == ENGINE_FP16; }
static void set_scale(float scale) { gpu.scale = scale; }
static const char *failed_check(void) { return gpu.failed_check; }

const struct engine_device engine_device_cuda = {
	.find = find,
	.open = gpu_open,
	.alloc = device_alloc,
	.free = device_free,
	.adopt = adopt,
	.put = put,
	.get = get,
	.before = before,
	.after = after,
	.sgd = sgd,
	.watch = watch,
	.is_finite = is_finite,
	.is_scaled = is_scaled,
	.set_scale = set_scale,
	.failed_check = failed_check,
};
