/*
 * The end of a family of communicators after a failure. Nothing here may be waited for without
 * end: NCCL's abort waits for threads, and for a GPU that it does not reach any more; the driver
 * gives memory back when all that the GPU was given is done. What is not done with soon is lost,
 * and goes with the process.
 */
#include "bench/plugin/beside.h"
#include "bench/plugin/nccl/nccl.h"
#include "lib/core/units.h"

/* Our launcher ends ranks 3 s after the first that failed: what went wrong is said before. */
static const uint64_t ABORT_NS = 2 * NS_PER_S, KERNELS_NS = NS_PER_S / 2;

static struct { /* in no communicator: the thread reads it whatever happens to those */
	ncclComm_t handle;
	CUcontext context;
} aborted;

static void put_abort(void *arg)
{
	(void)arg;
	if (cuCtxSetCurrent(aborted.context) == CUDA_SUCCESS)
		(void)ncclCommAbort(aborted.handle);
}

static void abort_one(struct nccl_comm *c)
{
	struct gpu_dev *g = c->gpu;

	if (c->handle && !g->dev.is_lost) { /* else the peers' kernels would wait for ours */
		aborted.handle = c->handle;
		aborted.context = g->context;
		g->dev.is_lost = !beside_call(put_abort, NULL, ABORT_NS);
	}
	c->handle = NULL;
}

void nccl_abort_all(struct nccl_comm *first)
{
	struct nccl_comm *root = first->root;

	nccl_capture_forget(&first->comm);
	abort_one(first);
	for (struct nccl_comm *f = root; f; f = f->next)
		abort_one(f);
	root->busy = NULL;
	(void)gpu_drain(root->gpu, KERNELS_NS);
}
