#include "bench/plugin/nccl/cuda.h"

#include "bench/plugin/leave.h"
#include "bench/plugin/nccl/newer.h"
#include "lib/core/units.h"
#include "lib/host/memory.h"

#include <sched.h>

/* The header asks for the newest of these, which drivers before CUDA 12.8 have not. */
#undef cuEventElapsedTime
CUresult CUDAAPI cuEventElapsedTime(float *ret_ms, CUevent from, CUevent to);

static int use(struct gpu_dev *g) { return cuCtxSetCurrent(g->context) == CUDA_SUCCESS ? 0 : -1; }

void gpu_note(struct gpu_dev *g, const char *what, CUresult r)
{
	if (r != CUDA_SUCCESS && !g->failure.kind)
		(void)cuda_failed(what, r, &g->failure);
}

/* What can be registered is memory that NCCL chose itself. */
static int get_memory(struct gpu_dev *g, size_t n, void **ret, struct err *e)
{
	CUdeviceptr p = 0;
	const char *why;

	*ret = NULL;
	if (g->registers) {
		ncclResult_t r = use(g) ? ncclInvalidUsage : newer_mem_alloc(ret, n ? n : 1);

		why = r == ncclSuccess ? NULL : ncclGetErrorString(r);
	} else {
		CUresult r = use(g) ? CUDA_ERROR_INVALID_CONTEXT : cuMemAlloc(&p, n ? n : 1);

		why = r == CUDA_SUCCESS ? NULL : driver_words(r);
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
		(void)cuMemFree(gpu_at(p));
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

	if (!piece || d->is_lost)
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

/* --- work on the stream ------------------------------------------------------------------ */

CUresult gpu_drain(struct gpu_dev *g, uint64_t within_ns)
{
	uint64_t until = now_ns() + within_ns;
	CUresult r;

	if (g->dev.is_lost)
		return CUDA_ERROR_DEINITIALIZED;
	while ((r = cuStreamQuery(g->stream)) == CUDA_ERROR_NOT_READY) {
		if (now_ns() > until) {
			g->dev.is_lost = true;
			leave_for_good();
			return CUDA_ERROR_TIMEOUT;
		}
		(void)sched_yield();
	}
	return r;
}

/* Everything above, which a GPU that hangs would wait for without end. */
static CUresult drain(struct gpu_dev *g) { return gpu_drain(g, g->deadline_ns); }

CUresult gpu_send(struct gpu_dev *g, CUdeviceptr to, const void *from, size_t n)
{
	CUresult r = g->dev.is_lost ? CUDA_ERROR_DEINITIALIZED
				    : cuMemcpyHtoDAsync(to, from, n, g->stream);

	return r == CUDA_SUCCESS ? drain(g) : r;
}

CUresult gpu_fetch(struct gpu_dev *g, void *to, CUdeviceptr from, size_t n)
{
	CUresult r = drain(g); /* the copy itself could not be given up */

	if (r == CUDA_SUCCESS)
		r = cuMemcpyDtoHAsync(to, from, n, g->stream);
	return r == CUDA_SUCCESS ? drain(g) : r;
}

static int sync_gpu(struct dev *d, struct err *e)
{
	struct gpu_dev *g = gpu_of(d);

	gpu_note(g, "waiting for the GPU", drain(g));
	*e = g->failure;
	return g->failure.kind ? -1 : 0;
}

static bool is_integrated(const struct gpu_dev *g)
{
	CUdevice dev;
	int is = 0;

	return cuDeviceGet(&dev, g->number) == CUDA_SUCCESS &&
	       cuDeviceGetAttribute(&is, CU_DEVICE_ATTRIBUTE_INTEGRATED, dev) == CUDA_SUCCESS && is;
}

static uint64_t available(struct dev *d)
{
	struct gpu_dev *g = gpu_of(d);
	size_t left = 0, all = 0;

	gpu_note(g, "cuMemGetInfo", cuMemGetInfo(&left, &all));
	if (is_integrated(g))
		left = memory_of_integrated(left);
	return left / (g->in_memory ? g->in_memory : 1);
}

static void *stream_of(struct dev *d) { return gpu_of(d)->stream; }

static int mark(struct dev *d, size_t i, struct err *e)
{
	struct gpu_dev *g = gpu_of(d);
	CUresult r = CUDA_SUCCESS;

	if (i >= DEV_MARKS)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (!g->marks[i])
		r = cuEventCreate(&g->marks[i], CU_EVENT_DEFAULT);
	if (r == CUDA_SUCCESS)
		r = cuEventRecord(g->marks[i], g->stream);
	return r == CUDA_SUCCESS ? 0 : cuda_failed("noting the time on the GPU", r, e);
}

static int between(struct dev *d, size_t i, size_t j, double *ret_s, struct err *e)
{
	float ms = 0;
	CUresult r = cuEventElapsedTime(&ms, gpu_of(d)->marks[i], gpu_of(d)->marks[j]);

	*ret_s = (double)ms / 1e3;
	return r == CUDA_SUCCESS ? 0 : cuda_failed("reading the GPU's clock", r, e);
}

static CUresult learn_capability(struct gpu_dev *g, CUdevice dev)
{
	int major = 0, minor = 0;
	CUresult r =
		cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);

	if (r == CUDA_SUCCESS)
		r = cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
	g->capability = major * 10 + minor;
	return r;
}

static void learn_bus(struct gpu_dev *g, CUdevice dev)
{
	int domain, bus, slot;

	if (cuDeviceGetAttribute(&domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, dev) == CUDA_SUCCESS &&
	    cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, dev) == CUDA_SUCCESS &&
	    cuDeviceGetAttribute(&slot, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, dev) == CUDA_SUCCESS)
		(void)snprintf(g->bus, sizeof(g->bus), "%04x:%02x:%02x", (unsigned)domain,
			       (unsigned)bus & 0xff, (unsigned)slot & 0xff);
}

static int open_gpu(struct gpu_dev *g, struct err *e)
{
	CUdevice dev;
	CUuuid uuid;
	CUresult r = cuDeviceGet(&dev, g->number);

	if (r == CUDA_SUCCESS)
		r = cuDeviceGetName(g->name, sizeof(g->name), dev);
	if (r == CUDA_SUCCESS)
		r = cuDeviceGetUuid_v2(&uuid, dev); /* the first form knows no parts (MIG) */
	if (r == CUDA_SUCCESS)
		r = learn_capability(g, dev);
	if (r == CUDA_SUCCESS)
		r = cuDevicePrimaryCtxRetain(&g->context, dev);
	if (r == CUDA_SUCCESS)
		r = cuCtxSetCurrent(g->context);
	if (r == CUDA_SUCCESS)
		r = cuStreamCreate(&g->stream, CU_STREAM_NON_BLOCKING);
	if (r != CUDA_SUCCESS) {
		(void)cuda_failed("cannot use the GPU", r, e);
		return driver_hint_taken(r, e);
	}
	learn_bus(g, dev);
	for (size_t i = 0; i < sizeof(uuid.bytes); i++)
		(void)snprintf(g->uuid + i * 2, 3, "%02x", (unsigned char)uuid.bytes[i]);
	return 0;
}

int gpu_dev_new(const struct comm_world *w, struct gpu_dev **ret, struct err *e)
{
	struct gpu_dev *g = calloc(1, sizeof(*g));

	if (!g)
		return err_sys(e, "no memory for a device");
	g->dev = (struct dev){.alloc = alloc,
			      .free = release,
			      .clear = gpu_clear,
			      .fill = gpu_fill,
			      .wrong = gpu_wrong,
			      .sync = sync_gpu,
			      .available = available,
			      .stream = stream_of,
			      .mark = mark,
			      .between = between};
	if (vendor_load(w->library, &g->vendor, e)) {
		free(g);
		return -1;
	}
	g->registers = w->registers;
	if (g->registers && newer_register_needs(&g->vendor, g->registers, e)) {
		free(g);
		return -1;
	}
	g->number = w->local_rank % g->vendor.driver.gpus;
	g->deadline_ns = w->deadline_ns ? w->deadline_ns : 10 * NS_PER_S;
	g->dev.kind = g->name;
	if (!open_gpu(g, e) && !gpu_load_kernels(g, e)) {
		*ret = g;
		return 0;
	}
	gpu_dev_free(g);
	return -1;
}

void gpu_dev_free(struct gpu_dev *g)
{
	if (!g || g->dev.is_lost) /* what is lost goes with the process */
		return;
	if (g->table)
		(void)cuMemFree(g->table);
	if (g->count)
		(void)cuMemFree(g->count);
	for (size_t i = 0; i < DEV_MARKS; i++)
		if (g->marks[i])
			(void)cuEventDestroy(g->marks[i]);
	if (g->stream)
		(void)cuStreamDestroy(g->stream);
	free(g); /* the primary context goes with the process: NCCL's may be in it */
}
