/*
 * Of the stand-in for NCCL: operations that are put on a stream, and done there without anybody
 * asking the communicator. While it is captured each is one of the graph, and is done when that is
 * launched.
 */
#include "tests/fake/libnccl.h"

#include <dlfcn.h>
#include <signal.h>

enum { COMMS = 64 };
static struct ncclComm *comms[COMMS];

struct kept {
	struct ncclComm *comm;
	struct fake_op op;
	bool by_graph;
};

static bool is_there(const struct ncclComm *c)
{
	for (int i = 0; i < COMMS; i++)
		if (comms[i] == c)
			return true;
	return false;
}

void fake_graphs_join(struct ncclComm *c)
{
	for (int i = 0; i < COMMS; i++)
		if (!comms[i]) {
			comms[i] = c;
			return;
		}
}

void fake_graphs_leave(struct ncclComm *c)
{
	if (c->graphs)
		(void)fprintf(stderr,
			      "stand-in for NCCL: given back while a graph has %d of its "
			      "operations\n",
			      c->graphs);
	for (int i = 0; i < COMMS; i++)
		comms[i] = comms[i] == c ? NULL : comms[i];
}

bool fake_is_captured(void *stream)
{
	int (*ask)(void *, int *) = NULL, status = 0;

	*(void **)&ask = dlsym(RTLD_DEFAULT, "cuStreamIsCapturing");
	return ask && !ask(stream, &status) && status;
}

static bool hangs;

static void begin(struct ncclComm *c, const struct fake_op *op)
{
	static int begun;

	c->op = *op;
	c->op.phase = 0;
	c->op.is_captured = false;
	c->on_stream = true;
	if (c->rank != 1 || ++begun != 3)
		return;
	hangs = fake_mode("replay-hang");
	if (fake_mode("replay-death"))
		(void)raise(SIGKILL);
}

/* An aborted one's kernels end. */
static bool goes_on(void *arg)
{
	const struct kept *k = arg;
	struct ncclComm *c = k->comm;

	if (!is_there(c) || c->failed)
		return true;
	if (!c->on_stream)
		begin(c, &k->op);
	if (hangs)
		return false;
	fake_go_on(c);
	c->on_stream = c->op.kind != FAKE_NOTHING;
	return !c->on_stream;
}

static void forget(void *arg)
{
	struct kept *k = arg;

	if (is_there(k->comm) && k->by_graph)
		k->comm->graphs--;
}

ncclResult_t fake_onto_stream(struct ncclComm *c, const struct fake_op *op)
{
	bool by_graph = fake_is_captured(op->stream);
	int (*work)(void *, bool (*)(void *), void *, void (*)(void *)) = NULL;
	struct kept *k = malloc(sizeof(*k));

	*(void **)&work = dlsym(RTLD_DEFAULT, "fake_stream_work");
	if (!k || !work || (!by_graph && !c->blocks)) {
		free(k);
		(void)fprintf(stderr, "stand-in for NCCL: a capture ended before all was there\n");
		return ncclInternalError;
	}
	*k = (struct kept){c, *op, by_graph};
	c->graphs += by_graph;
	return work(op->stream, goes_on, k, forget) ? ncclUnhandledCudaError : ncclSuccess;
}
