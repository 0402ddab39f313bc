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
 *	                   integrated  takes the host's memory, which files fill but for 1 MiB
 *	                   lost        a kernel reads where nothing is
 *	                   watched     drives a screen, and ends a kernel that takes long
 *	                   old-driver  knows CUDA 12.4: of kernels only text that it can read
 *	                   no-jit      the same, and lacks what reads it
 *	                   lazy-find   loads code that it cannot run, and says so when a kernel
 *	                               is looked up
 *	                   lazy-launch the same, when one is launched
 *	                   old-gpu     has no bf16
 *	                   own-gpu     each process has a GPU for itself
 *	                   own-old-gpu the same, and they have no bf16
 *	                   part        each process has its own part of one GPU (MIG)
 *	                   hopper      is called an H100, and has 1 GiB
 *	                   clock       two events are 2 ms apart for each one between them
 *	                   wall        events have the time by this host's clock
 *	                   sick        does not start
^ *	                   compat      the same: it is CUDA's compatibility library
 *	                   taken       another process has the GPU, which takes one only
 *	                   three       has three GPUs
 *	                   no-capture  captures no stream
 *	                   bad-capture finds that a capture was spoilt, when it ends
 *	                   no-graph    has no memory for a graph
 *	                   far         copies of 64 KiB and more take 20 ms
 *	                   ahead       tells of each batch that was filled while a backward
 *	                               pass was at work
 *
 * As strict as a driver may be: calls want a context that is current in their thread, and a
 * process that has called cuInit itself; copies stay within what was allocated; streams and
 * events are used from their creation to their end; and who frees memory waits for all that the
 * GPU was given, also for ever.
 */
#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>

#include <deque>
#include <set>

#include "bench/plugin/nccl/kernels.cu"
#include "tests/fake/kernels.h"
#include "tests/fake/libcuda.h"

bool fake_mode(const char *name)
{
	static const char *const set = getenv("WINDSOCK_FAKE_CUDA");

	return set && strcmp(set, name) == 0;
}

/* --- what a driver insists on -------------------------------------------------------------- */

static pid_t began; /* the process that called cuInit: its children have not */
static thread_local CUcontext current;

CUresult fake_refuse(const char *what, CUresult r)
{
	fprintf(stderr, "stand-in for the driver: %s\n", what);
	return r;
}
CUresult fake_ready()
{
	if (began != getpid())
		return fake_refuse("a call without cuInit in this process",
				   CUDA_ERROR_NOT_INITIALIZED);
	if (!current)
		return fake_refuse("a call without a context in this thread",
				   CUDA_ERROR_INVALID_CONTEXT);
	return CUDA_SUCCESS;
}

/* --- streams: queues of work ------------------------------------------------------------ */

struct event {
	unsigned recorded, done;
	double at_ms;
	bool timed;
};
static double ticks;
static unsigned events_done;
struct stream {
	std::deque<work> queue;
	fake_graph *captured = nullptr;
};
static std::vector<stream *> streams;
static std::set<const void *> alive; /* streams and events */
#define ALIVE(x)                                                                                   \
	do {                                                                                       \
		READY();                                                                           \
		if (!alive.count(x))                                                               \
			return fake_refuse("a stream or an event that is none, or no more",        \
					   CUDA_ERROR_INVALID_HANDLE);                             \
	} while (0)
static stream *of(CUstream s) { return reinterpret_cast<stream *>(s); }
static event *of(CUevent e) { return reinterpret_cast<event *>(e); }

static bool advance(stream *s)
{
	bool moved = false;

	for (; !s->queue.empty(); moved = true) {
		work &first = s->queue.front();

		if ((first.waits_for && first.waits_for->done < first.turn) ||
		    (first.goes_on && !first.goes_on()) ||
		    (fake_mode("stall") && events_done >= 20))
			break;
		work next = std::move(first);
		s->queue.pop_front();
		if (next.run)
			next.run();
	}
	return moved;
}
void fake_advance()
{
	for (bool moved = true; moved;) {
		moved = false;
		for (size_t i = streams.size(); i--;)
			moved |= advance(streams[i]);
	}
}
fake_graph **fake_captured(CUstream s) { return &of(s)->captured; }
void fake_wait_for_all(void)
{
	auto is_idle = [](const stream *s) { return s->queue.empty(); };

	for (fake_advance();
	     fake_mode("busy") || !std::all_of(streams.begin(), streams.end(), is_idle);
	     fake_advance())
		usleep(50);
}
bool fake_is_full(CUstream s) { return of(s)->queue.size() >= 1024; }
bool fake_is_alive(const void *x) { return alive.count(x); }
bool fake_captures(void)
{
	for (const stream *s : streams)
		if (s->captured)
			return true;
	return false;
}
void fake_spoil_captures(void)
{
	for (stream *s : streams)
		if (s->captured)
			s->captured->is_spoilt = true;
}
CUresult fake_put(CUstream s, work w)
{
	ALIVE(s);
	if (of(s)->captured) {
		of(s)->captured->nodes.push_back(std::move(w));
		return CUDA_SUCCESS;
	}
	of(s)->queue.push_back(std::move(w));
	if (!fake_mode("lazy"))
		fake_advance();
	return CUDA_SUCCESS;
}
CUresult fake_enqueue(CUstream s, std::function<void()> run)
{
	return fake_put(s, work{std::move(run), nullptr, 0, {}, {}});
}

OUT CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
	READY();
	if (flags != CU_STREAM_NON_BLOCKING)
		return fake_refuse("a stream that waits for the legacy one",
				   CUDA_ERROR_INVALID_VALUE);
	streams.push_back(new stream);
	*s = reinterpret_cast<CUstream>(streams.back());
	alive.insert(*s);
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamQuery(CUstream s)
{
	ALIVE(s);
	UNSAFE("cuStreamQuery");
	fake_asked(s);
	fake_advance();
	static int looks = 0;
	if (fake_mode("watched") && ++looks > 20)
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	return fake_mode("busy") || !of(s)->queue.empty() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
OUT CUresult cuStreamDestroy_v2(CUstream s)
{
	ALIVE(s);
	fake_no_graph_is_left();
	fake_advance();
	alive.erase(s);
	streams.erase(std::find(streams.begin(), streams.end(), of(s)));
	delete of(s);
	return CUDA_SUCCESS;
}
OUT CUresult cuEventCreate(CUevent *e, unsigned flags)
{
	READY();
	*e = reinterpret_cast<CUevent>(new event{0, 0, 0, !(flags & CU_EVENT_DISABLE_TIMING)});
	alive.insert(*e);
	return CUDA_SUCCESS;
}
static double wall_ms()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}
OUT CUresult cuEventRecord(CUevent e, CUstream s)
{
	ALIVE(e);
	unsigned turn = ++of(e)->recorded;

	return fake_enqueue(s, [e, turn] {
		of(e)->done = turn;
		events_done++;
		ticks += of(e)->timed ? 2 : 0;
		of(e)->at_ms = fake_mode("wall") ? wall_ms() : ticks;
	});
}
#undef cuEventElapsedTime /* the first form of it: drivers before CUDA 12.8 have no other */
OUT CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	ALIVE(from);
	ALIVE(to);
	if (!of(from)->timed || !of(to)->timed)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!of(from)->done || !of(to)->done)
		return CUDA_ERROR_NOT_READY;
	*ms = fake_mode("clock") || fake_mode("wall")
		      ? static_cast<float>(of(to)->at_ms - of(from)->at_ms)
		      : 0.01f;
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned)
{
	ALIVE(e);
	return fake_put(s, work{{}, of(e), of(e)->recorded, {}, {}});
}
OUT CUresult cuEventQuery(CUevent e)
{
	ALIVE(e);
	UNSAFE("cuEventQuery");
	fake_advance();
	return fake_mode("busy") || of(e)->done < of(e)->recorded ? CUDA_ERROR_NOT_READY
								  : CUDA_SUCCESS;
}
OUT CUresult cuEventDestroy_v2(CUevent e)
{
	ALIVE(e);
	fake_advance();
	alive.erase(e);
	delete of(e);
	return CUDA_SUCCESS;
}
OUT CUresult cuLaunchHostFunc(CUstream s, CUhostFn f, void *data)
{
	return fake_enqueue(s, [f, data] { f(data); });
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

static const CUmodule code_module = reinterpret_cast<CUmodule>(1),
		      text_module = reinterpret_cast<CUmodule>(2);
static bool of_code; /* the kernel that was looked up last */

static bool is_old() { return fake_mode("old-driver") || fake_mode("no-jit"); }
OUT CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	/* a fat binary of nvcc's begins so; what is younger than a driver it does not know */
	static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
	const char *text = static_cast<const char *>(image);

	READY();
	*m = text_module;
	if (!memcmp(image, magic, sizeof(magic)) && (*m = code_module))
		return is_old() ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
	if (fake_mode("no-jit"))
		return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
	return strstr(text, "\n.version 6.0\n") && strstr(text, "\n.target sm_60\n")
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}
OUT CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	const fake_kernel *k = !strcmp(name, fill.name)	   ? &fill
			       : !strcmp(name, wrong.name) ? &wrong
							   : fake_engine_kernel(name);

	of_code = m == code_module;
	if (of_code && fake_mode("lazy-find"))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	*f = reinterpret_cast<CUfunction>(const_cast<fake_kernel *>(k));
	return k ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
OUT CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned threads,
			    unsigned, unsigned, unsigned, CUstream s, void **a, void **)
{
	if (fake_mode("lost"))
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	if (of_code && fake_mode("lazy-launch"))
		return CUDA_ERROR_UNKNOWN;
	if (!x || x > 1u << 30 || y != 1 || z != 1 || !threads || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	fake_launched(reinterpret_cast<const fake_kernel *>(f)->name, s);
	return fake_enqueue(s, reinterpret_cast<const fake_kernel *>(f)->prepare(a));
}

/* --- the device --------------------------------------------------------------------------- */

OUT CUresult cuInit(unsigned)
{
	began = getpid();
	return fake_mode("no-gpu")   ? CUDA_ERROR_NO_DEVICE
	       : fake_mode("sick")   ? CUDA_ERROR_SYSTEM_NOT_READY
	       : fake_mode("compat") ? CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
				     : CUDA_SUCCESS;
}
OUT CUresult cuDriverGetVersion(int *v)
{
	*v = is_old() ? 12040 : 13000;
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetCount(int *n) { return *n = fake_mode("three") ? 3 : 1, CUDA_SUCCESS; }
OUT CUresult cuDeviceGet(CUdevice *d, int i) { return *d = i, CUDA_SUCCESS; }
static int own_gpu() /* a number that is each process's own; 0: they share one */
{
	return fake_mode("own-gpu") || fake_mode("own-old-gpu") ? getpid() & 0xffff : 0;
}
OUT CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute what, CUdevice d)
{
	*v = what == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID		? own_gpu()
	     : what == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID		? 0x53 + d
	     : what == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID	? 0
	     : what == CU_DEVICE_ATTRIBUTE_INTEGRATED		? fake_mode("integrated")
	     : fake_mode("old-gpu") || fake_mode("own-old-gpu") ? 7
								: 9;
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetName(char *to, int n, CUdevice)
{
	strncpy(to, fake_mode("hopper") ? "NVIDIA H100 80GB HBM3" : "no GPU at all",
		static_cast<size_t>(n));
	return CUDA_SUCCESS;
}
OUT CUresult cuDeviceGetUuid_v2(CUuuid *u, CUdevice)
{
	const pid_t own = getpid();

	memset(u, 7, sizeof(*u));
	if (own_gpu() || fake_mode("part"))
		memcpy(u, &own, sizeof(own));
	return CUDA_SUCCESS;
}
OUT CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
	*c = reinterpret_cast<CUcontext>(static_cast<intptr_t>(d) + 1);
	if (fake_mode("taken"))
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	return began == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
OUT CUresult cuCtxSetCurrent(CUcontext c)
{
	current = c;
	return began == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
OUT CUresult cuCtxGetCurrent(CUcontext *c) { return *c = current, CUDA_SUCCESS; }
OUT CUresult cuGetErrorString(CUresult r, const char **text)
{
	*text = r == CUDA_ERROR_NO_DEVICE	  ? "no CUDA-capable device is detected"
		: r == CUDA_ERROR_OUT_OF_MEMORY	  ? "out of memory"
		: r == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
		: r == CUDA_ERROR_JIT_COMPILER_NOT_FOUND ? "PTX JIT compiler library not found"
							 : "some error";
	return CUDA_SUCCESS;
}
