/*
 * A stand-in for the NVIDIA driver, for tests on machines without a GPU: "GPU memory"
 * is the host's, and the kernels are our own sources compiled for the processor. No
 * result of it is ever a measurement.
 *
 *	WINDSOCK_FAKE_CUDA=no-gpu      cuInit says that there is none
 *	                   busy        streams never finish
 *	                   stall       streams stand still after 20 events of one kind or the
 *	                               other, as when a network does while all ranks live
 *	                   lazy        work waits until somebody asks whether it is done, and
 *	                               streams without an event between them run last first
 *	                   small       48 MiB of memory
 *	                   lost        a kernel reads where nothing is
 *	                   old-driver  knows CUDA 12.4: of kernels only text that it can read
 *	                   old-gpu     has no bf16
 *	                   own-gpu     each process has a GPU for itself
 *	                   clock       two events are 2 ms apart for each one between them
 *	                   sick        does not start
 *	                   three       has three GPUs
 */
#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include <deque>
#include <map>
#include <vector>

#include "bench/plugin/nccl/kernels.cu"
#include "tests/fake/kernels.h"

#define OUT extern "C" __attribute__((visibility("default")))

static bool mode(const char *name)
{
	const char *set = getenv("WINDSOCK_FAKE_CUDA");

	return set && strcmp(set, name) == 0;
}

/* --- streams: queues of work ------------------------------------------------------------ */

struct event {
	unsigned recorded, done;
	double at_ms;
	bool timed;
};
static double ticks;
static unsigned events_done;
struct work {
	std::function<void()> run;
	event *waits_for;
	unsigned turn;
};
struct stream {
	std::deque<work> queue;
};
static std::vector<stream *> streams;
static stream *of(CUstream s) { return reinterpret_cast<stream *>(s); }
static event *of(CUevent e) { return reinterpret_cast<event *>(e); }

static bool advance(stream *s)
{
	bool moved = false;

	for (; !s->queue.empty(); moved = true) {
		work next = s->queue.front();

		if ((next.waits_for && next.waits_for->done < next.turn) ||
		    (mode("stall") && events_done >= 20))
			break;
		s->queue.pop_front();
		if (next.run)
			next.run();
	}
	return moved;
}
static void advance_all()
{
	for (bool moved = true; moved;) {
		moved = false;
		for (size_t i = streams.size(); i--;)
			moved |= advance(streams[i]);
	}
}
static CUresult enqueue(CUstream s, work w)
{
	of(s)->queue.push_back(std::move(w));
	if (!mode("lazy"))
		advance_all();
	return CUDA_SUCCESS;
}
static CUresult enqueue(CUstream s, std::function<void()> run)
{
	return enqueue(s, work{std::move(run), nullptr, 0});
}

OUT CUresult cuStreamCreate(CUstream *s, unsigned)
{
	streams.push_back(new stream);
	*s = reinterpret_cast<CUstream>(streams.back());
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamQuery(CUstream s)
{
	advance_all();
	return mode("busy") || !of(s)->queue.empty() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
OUT CUresult cuStreamDestroy_v2(CUstream) { return advance_all(), CUDA_SUCCESS; }
OUT CUresult cuEventCreate(CUevent *e, unsigned flags)
{
	*e = reinterpret_cast<CUevent>(new event{0, 0, 0, !(flags & CU_EVENT_DISABLE_TIMING)});
	return CUDA_SUCCESS;
}
OUT CUresult cuEventRecord(CUevent e, CUstream s)
{
	unsigned turn = ++of(e)->recorded;

	return enqueue(s, [e, turn] {
		of(e)->done = turn;
		events_done++;
		of(e)->at_ms = ticks += of(e)->timed ? 2 : 0;
	});
}
#undef cuEventElapsedTime /* the first form of it: drivers before CUDA 12.8 have no other */
OUT CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	if (!of(from)->timed || !of(to)->timed)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!of(from)->done || !of(to)->done)
		return CUDA_ERROR_NOT_READY;
	*ms = mode("clock") ? static_cast<float>(of(to)->at_ms - of(from)->at_ms) : 0.01f;
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned)
{
	return enqueue(s, work{{}, of(e), of(e)->recorded});
}
OUT CUresult cuEventQuery(CUevent e)
{
	advance_all();
	return mode("busy") || of(e)->done < of(e)->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
OUT CUresult cuEventDestroy_v2(CUevent e) { return advance_all(), delete of(e), CUDA_SUCCESS; }
OUT CUresult cuLaunchHostFunc(CUstream s, CUhostFn f, void *data)
{
	return enqueue(s, [f, data] { f(data); });
}

/* --- memory ------------------------------------------------------------------------------- */

static std::map<const char *, size_t> taken, pinned;
static const size_t all_memory = size_t(48) << 20;

static size_t in_use()
{
	size_t sum = 0;

	for (const auto &piece : taken)
		sum += piece.second;
	return sum;
}
static bool is_pinned(const void *p)
{
	auto next = pinned.upper_bound(static_cast<const char *>(p));

	return next != pinned.begin() && (--next, p < next->first + next->second);
}
static char *allocate(size_t n)
{
	char *p = static_cast<char *>(aligned_alloc(512, (n + 511) / 512 * 512));

	if (p) /* what nobody has written is nothing that one could use */
		memset(p, 0xff, n);
	return p;
}

OUT CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	char *at = mode("small") && in_use() + n > all_memory ? nullptr : allocate(n);

	*p = reinterpret_cast<CUdeviceptr>(at);
	if (!at)
		return CUDA_ERROR_OUT_OF_MEMORY;
	taken[at] = n;
	return CUDA_SUCCESS;
}
OUT CUresult cuMemFree_v2(CUdeviceptr p)
{
	advance_all();
	taken.erase(reinterpret_cast<char *>(p));
	free(reinterpret_cast<void *>(p));
	return CUDA_SUCCESS;
}
OUT CUresult cuMemGetInfo_v2(size_t *left, size_t *all)
{
	*all = all_memory;
	*left = in_use() < all_memory ? all_memory - in_use() : 0;
	return CUDA_SUCCESS;
}
OUT CUresult cuMemHostAlloc(void **p, size_t n, unsigned)
{
	char *at = allocate(n);

	*p = at;
	if (at)
		pinned[at] = n;
	return at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
OUT CUresult cuMemFreeHost(void *p)
{
	advance_all();
	pinned.erase(static_cast<char *>(p));
	free(p);
	return CUDA_SUCCESS;
}
/* What is pinned is read when its turn comes, other memory before the call returns. */
OUT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
	void *at = reinterpret_cast<void *>(to);

	if (is_pinned(from))
		return enqueue(s, [at, from, n] { memcpy(at, from, n); });
	const char *bytes = static_cast<const char *>(from);
	std::vector<char> now(bytes, bytes + n);
	return enqueue(s, [at, now] { memcpy(at, now.data(), now.size()); });
}
OUT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s)
{
	const void *at = reinterpret_cast<void *>(from);
	CUresult r = enqueue(s, [to, at, n] { memcpy(to, at, n); });

	if (!is_pinned(to))
		advance_all();
	return r;
}
OUT CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s)
{
	return enqueue(s, [p, v, n] { memset(reinterpret_cast<void *>(p), v, n); });
}

/* --- kernels ------------------------------------------------------------------------------ */

template <typename T> static T arg(void **args, int i) { return *static_cast<T *>(args[i]); }
static std::function<void()> prepare_fill(void **a)
{
	auto p = arg<unsigned char *>(a, 0), table = arg<unsigned char *>(a, 1);
	auto first = arg<unsigned long>(a, 2), period = arg<unsigned long>(a, 3),
	     n = arg<unsigned long>(a, 4);
	auto size = arg<unsigned>(a, 5);

	return [=] { windsock_fill(p, table, first, period, n, size); };
}
static std::function<void()> prepare_wrong(void **a)
{
	auto p = arg<unsigned char *>(a, 0), table = arg<unsigned char *>(a, 1);
	auto first = arg<unsigned long>(a, 2), period = arg<unsigned long>(a, 3),
	     n = arg<unsigned long>(a, 4);
	auto size = arg<unsigned>(a, 5);
	auto kind = arg<int>(a, 6);
	auto count = arg<unsigned long long *>(a, 7);

	return [=] { windsock_wrong(p, table, first, period, n, size, kind, count); };
}
static const fake_kernel fill = {"windsock_fill", prepare_fill},
			 wrong = {"windsock_wrong", prepare_wrong};

OUT CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	/* a fat binary of nvcc's begins so; what is younger than a driver it does not know */
	static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
	const char *text = static_cast<const char *>(image);

	*m = reinterpret_cast<CUmodule>(1);
	if (!memcmp(image, magic, sizeof(magic)))
		return mode("old-driver") ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
	return strstr(text, "\n.version 6.0\n") && strstr(text, "\n.target sm_60\n")
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}
OUT CUresult cuModuleGetFunction(CUfunction *f, CUmodule, const char *name)
{
	const fake_kernel *k = !strcmp(name, fill.name)	   ? &fill
			       : !strcmp(name, wrong.name) ? &wrong
							   : fake_engine_kernel(name);

	*f = reinterpret_cast<CUfunction>(const_cast<fake_kernel *>(k));
	return k ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
OUT CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned threads,
			    unsigned, unsigned, unsigned, CUstream s, void **a, void **)
{
	if (mode("lost"))
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	if (!x || x > 1u << 30 || y != 1 || z != 1 || !threads || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	return enqueue(s, reinterpret_cast<const fake_kernel *>(f)->prepare(a));
}

/* --- the device --------------------------------------------------------------------------- */

OUT CUresult cuInit(unsigned)
{
	return mode("no-gpu") ? CUDA_ERROR_NO_DEVICE
	       : mode("sick") ? CUDA_ERROR_SYSTEM_NOT_READY
			      : CUDA_SUCCESS;
}
OUT CUresult cuDriverGetVersion(int *v)
{
	*v = mode("old-driver") ? 12040 : 13000;
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetCount(int *n) { return *n = mode("three") ? 3 : 1, CUDA_SUCCESS; }
OUT CUresult cuDeviceGet(CUdevice *d, int i) { return *d = i, CUDA_SUCCESS; }
OUT CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute, CUdevice)
{
	*v = mode("old-gpu") ? 7 : 9;
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetName(char *to, int n, CUdevice)
{
	strncpy(to, "no GPU at all", static_cast<size_t>(n));
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetUuid_v2(CUuuid *u, CUdevice)
{
	const pid_t own = getpid();

	memset(u, 7, sizeof(*u));
	if (mode("own-gpu"))
		memcpy(u, &own, sizeof(own));
	return CUDA_SUCCESS;
}
OUT CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice)
{
	*c = reinterpret_cast<CUcontext>(1);
	return CUDA_SUCCESS;
}
OUT CUresult cuCtxSetCurrent(CUcontext c) { return c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }
OUT CUresult cuGetErrorString(CUresult r, const char **text)
{
	*text = r == CUDA_ERROR_NO_DEVICE	  ? "no CUDA-capable device is detected"
		: r == CUDA_ERROR_OUT_OF_MEMORY	  ? "out of memory"
		: r == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
						  : "some error";
	return CUDA_SUCCESS;
}
