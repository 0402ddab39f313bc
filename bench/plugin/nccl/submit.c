/* What a communicator is asked for goes onto the stream: one by one, or several as one launch. */
#include "bench/plugin/nccl/nccl.h"

int nccl_settle(struct nccl_comm *c, const char *what, struct err *e)
{
	struct nccl_comm *busy = c->root->busy;

	c->root->busy = NULL;
	if (busy && nccl_await(busy, what, true, e))
		return -1;
	pace_clear(&c->root->pace);
	return 0;
}

/* The next call has to find it ready; a full stream takes no more before it has room. */
static int submitted(struct nccl_comm *c, enum coll_kind kind, uint64_t bytes, struct err *e)
{
	const char *what = coll_kind_name(kind);
	struct nccl_graph *g = &c->root->graph;

	if (g->is_open) { /* it is launched later, and watched then */
		g->kind = kind;
		g->bytes += bytes;
		return nccl_await(c, what, false, e);
	}
	c->root->busy = c;
	return nccl_await(c, what, false, e) || nccl_note(c, kind, bytes, e) ? -1 : 0;
}

static ncclResult_t call(struct nccl_comm *c, void *request) { return nccl_call(c, request); }

static ncclResult_t end_group(struct nccl_comm *c, void *arg)
{
	(void)c;
	(void)arg;
	return ncclGroupEnd();
}

/* What a group is left with would be waited for by what ends the communicator: of one whose calls
 * are cut nothing is asked any more. */
static void leave_group(struct nccl_comm *c)
{
	if (c->group.is_open && c->root->asking.was_cut)
		c->gpu->dev.is_lost = true;
	else if (c->group.is_open)
		(void)ncclGroupEnd();
	c->group.is_open = false;
}

int nccl_submit(struct nccl_comm *c, const struct comm_request *q, struct err *e)
{
	const char *what = coll_kind_name(q->kind);
	uint64_t bytes = comm_bytes(q, c->comm.size);
	ncclResult_t r;

	if (c->root->busy != c && nccl_settle(c, what, e))
		return -1;
	c->root->pace.is_new |= !(c->used >> q->kind & 1);
	c->used |= 1u << q->kind;
	r = nccl_ask(c, call, (void *)(uintptr_t)q);
	if (r != ncclSuccess && r != ncclInProgress) {
		leave_group(c);
		return nccl_fail_result(c, what, r, e);
	}
	if (!c->group.is_open)
		return submitted(c, q->kind, bytes, e);
	c->group.kind = q->kind;
	c->group.bytes += bytes;
	return 0;
}

int nccl_group_begin(struct comm *comm, struct err *e)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	static const char what[] = "ncclGroupStart";
	ncclResult_t r;

	if (c->root->busy != c && nccl_settle(c, what, e))
		return -1;
	r = ncclGroupStart();
	if (r != ncclSuccess)
		return nccl_fail_result(c, what, r, e);
	c->group = (struct nccl_group){.is_open = true};
	return 0;
}

int nccl_group_end(struct comm *comm, struct err *e)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	ncclResult_t r = nccl_ask(c, end_group, NULL);

	if (c->root->asking.was_cut)
		leave_group(c);
	c->group.is_open = false;
	if (r != ncclSuccess && r != ncclInProgress)
		return nccl_fail_result(c, coll_kind_name(c->group.kind), r, e);
	return c->group.bytes ? submitted(c, c->group.kind, c->group.bytes, e) : 0;
}
