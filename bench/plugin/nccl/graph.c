/*
 * -G: requests become a CUDA graph. While the stream is captured nothing else may be asked of
 * it, nor of any event; and NCCL, whose thread puts the requests there, has to be done with each
 * before the capture ends. What it captured it counts: it would wait for ever to be destroyed, or
 * aborted, while there is a graph.
 */
#include "bench/plugin/library.h"
#include "bench/plugin/nccl/nccl.h"

#include <dlfcn.h>

static const char *const graph_needs[] = {"cuStreamBeginCapture_v2",	 "cuStreamEndCapture",
					  "cuGraphInstantiateWithFlags", "cuGraphLaunch",
					  "cuGraphExecDestroy",		 "cuGraphDestroy"};

static int refused(struct nccl_comm *c, const char *what, CUresult r, struct err *e)
{
	nccl_capture_forget(&c->comm);
	return err_set(e, ERR_ABSENT, "%s: CUDA says: %s", what, driver_words(r));
}

int nccl_capture_begin(struct comm *comm, struct err *e)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	const char *lacks = library_lacks(RTLD_DEFAULT, graph_needs, ARRAY_LEN(graph_needs));
	CUresult r;

	if (lacks)
		return err_set(e, ERR_ABSENT,
			       "the driver has no %s, as those from CUDA 11.4 on have", lacks);
	if (comm_wait(comm, e))
		return -1;
	nccl_capture_forget(comm);
	/* what other threads of this process do is theirs: NCCL's allocate memory now and then */
	r = cuStreamBeginCapture(c->gpu->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	if (r != CUDA_SUCCESS)
		return refused(c, "cuStreamBeginCapture", r, e);
	c->root->graph.is_open = true;
	return 0;
}

int nccl_capture_end(struct comm *comm, struct err *e)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	struct nccl_graph *g = &c->root->graph;
	CUresult r = cuStreamEndCapture(c->gpu->stream, &g->graph);

	g->is_open = false;
	if (r != CUDA_SUCCESS)
		return refused(c, "cuStreamEndCapture", r, e);
	r = cuGraphInstantiateWithFlags(&g->exec, g->graph, 0);
	return r == CUDA_SUCCESS ? 0 : refused(c, "cuGraphInstantiateWithFlags", r, e);
}

int nccl_replay(struct comm *comm, struct err *e)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	struct nccl_graph *g = &c->root->graph;
	CUresult r;

	if (c->root->busy != c && comm_wait(comm, e))
		return -1;
	c->root->busy = c;
	r = cuGraphLaunch(g->exec, c->gpu->stream);
	if (r == CUDA_SUCCESS)
		return nccl_note(c, g->kind, g->bytes, e);
	(void)cuda_failed("cuGraphLaunch", r, &c->root->failure);
	return nccl_fail(c, "", e);
}

/* One that is at work is gone when it is done, or has been aborted; of a GPU that is lost, with the
 * process. */
void nccl_capture_forget(struct comm *comm)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	struct nccl_graph *g = &c->root->graph;

	if (c->gpu->dev.is_lost)
		return;
	if (g->is_open)
		(void)cuStreamEndCapture(c->gpu->stream, &g->graph);
	if (g->exec)
		(void)cuGraphExecDestroy(g->exec);
	if (g->graph)
		(void)cuGraphDestroy(g->graph);
	*g = (struct nccl_graph){0};
}
