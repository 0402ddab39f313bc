/*
 * Of the driver's stand-in: streams that are captured, and graphs. What a driver forbids
 * meanwhile, or leaves undefined, is told on stderr.
 */
#include "tests/fake/libcuda.h"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

static int graphs, execs; /* that nobody has destroyed */

CUresult fake_unsafe(const char *what)
{
	if (!fake_captures())
		return CUDA_SUCCESS;
	fprintf(stderr, "stand-in for the driver: %s while a stream is captured\n", what);
	fake_spoil_captures();
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void fake_no_graph_is_left(void)
{
	if (graphs || execs || fake_captures())
		fprintf(stderr, "stand-in for the driver: a graph is left over\n");
}

OUT CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode)
{
	READY();
	if (!fake_is_alive(s) || *fake_captured(s))
		return fake_refuse("a capture of what cannot be", CUDA_ERROR_ILLEGAL_STATE);
	if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
		return fake_refuse("a capture that forbids other threads to allocate",
				   CUDA_ERROR_INVALID_VALUE);
	if (fake_mode("no-capture"))
		return CUDA_ERROR_NOT_SUPPORTED;
	*fake_captured(s) = new fake_graph{};
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *ret)
{
	READY();
	const fake_graph *g = fake_is_alive(s) ? *fake_captured(s) : nullptr;

	*ret = !g	      ? CU_STREAM_CAPTURE_STATUS_NONE
	       : g->is_spoilt ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
			      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	return CUDA_SUCCESS;
}
OUT CUresult cuStreamEndCapture(CUstream s, CUgraph *ret)
{
	READY();
	fake_graph *g = *fake_captured(s);

	*ret = nullptr;
	if (!g)
		return CUDA_ERROR_ILLEGAL_STATE;
	*fake_captured(s) = nullptr;
	if (g->is_spoilt || fake_mode("bad-capture")) {
		delete g;
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	graphs++;
	*ret = reinterpret_cast<CUgraph>(g);
	return CUDA_SUCCESS;
}
OUT CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph g, unsigned long long flags)
{
	READY();
	*ret = nullptr;
	if (fake_mode("no-graph") || flags)
		return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	execs++;
	*ret = reinterpret_cast<CUgraphExec>(new fake_graph(*reinterpret_cast<fake_graph *>(g)));
	return CUDA_SUCCESS;
}
OUT CUresult cuGraphLaunch(CUgraphExec exec, CUstream s)
{
	READY();
	UNSAFE("cuGraphLaunch");
	for (work w : reinterpret_cast<fake_graph *>(exec)->nodes) {
		while (fake_is_full(s)) {
			fake_advance();
			usleep(100);
		}
		w.kept.reset();
		if (CUresult r = fake_put(s, std::move(w)))
			return r;
	}
	return CUDA_SUCCESS;
}
OUT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	READY();
	execs--;
	delete reinterpret_cast<fake_graph *>(exec);
	return CUDA_SUCCESS;
}
OUT CUresult cuGraphDestroy(CUgraph g)
{
	READY();
	graphs--;
	delete reinterpret_cast<fake_graph *>(g);
	return CUDA_SUCCESS;
}

/* For the stand-in of NCCL: work that is done when @goes_on says so. @arg is the stream's from here
 * on, and @forget is told when no graph has it any more. */
OUT CUresult fake_stream_work(CUstream s, bool (*goes_on)(void *), void *arg,
			      void (*forget)(void *))
{
	std::shared_ptr<void> owned(arg, free);
	std::shared_ptr<void> kept(arg, [owned, forget](void *p) { forget(p); });

	return fake_put(
		s, work{{}, nullptr, 0, [owned, goes_on] { return goes_on(owned.get()); }, kept});
}
