/*
 * What a communicator is asked for beside collectives, waited for as everything else of
 * NCCL's: parts of it (ncclCommSplit), and memory that it registers (-R).
 */
#include "bench/plugin/nccl/nccl.h"
#include "bench/plugin/nccl/newer.h"

static struct nccl_comm *part_new(struct nccl_comm *from, const struct comm_group *g)
{
	struct nccl_comm *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct nccl_comm){.comm = {.impl = from->comm.impl,
					 .rank = g->rank,
					 .size = g->size,
					 .origin = g->origin},
				.root = from->root,
				.next = from->root->next,
				.gpu = from->gpu};
	from->root->next = c; /* from here on it is aborted with the others */
	return c;
}

void nccl_discard(struct nccl_comm *c)
{
	if (!c->gpu->dev.is_lost)
		free(c);
}

static void forget(struct nccl_comm *c)
{
	c->root->next = c->next;
	nccl_discard(c);
}

struct split {
	const struct comm_group *group;
	ncclComm_t *ret;
};

static ncclResult_t split(struct nccl_comm *from, void *arg)
{
	const struct split *s = arg;
	const struct comm_group *g = s->group;

	return newer_split(from->handle, g->size ? g->colour : -1, g->size ? g->rank : 0, s->ret);
}

/*
 * The parent is busy with it until it is done, and only then the part's handle is known;
 * the part may have something left to do after that.
 */
static int make(struct nccl_comm *from, struct nccl_comm *c, const struct comm_group *g,
		struct err *e)
{
	static const char what[] = "ncclCommSplit";
	ncclResult_t r = nccl_ask(from, split, &(struct split){g, &c->handle});

	if (r != ncclSuccess && r != ncclInProgress)
		return nccl_fail_result(from, what, r, e);
	if (nccl_await(from, what, false, e))
		return -1;
	return c->handle ? nccl_await(c, what, false, e) : 0;
}

int nccl_split(struct comm *comm, const struct comm_group *g, struct comm **ret, struct err *e)
{
	struct nccl_comm *from = CONTAINER_OF(comm, struct nccl_comm, comm), *c;

	if (newer_needs(&from->gpu->vendor, NEWER_SPLIT, e) ||
	    nccl_settle(from, "ncclCommSplit", e))
		return -1;
	c = part_new(from, g);
	if (!c)
		return err_sys(e, "cannot make a communicator");
	if (make(from, c, g, e)) {
		forget(c);
		return -1;
	}
	if (g->size)
		*ret = &c->comm;
	else
		forget(c);
	return 0;
}

struct addition {
	struct gpu_piece *piece;
	size_t n;
};

static ncclResult_t add(struct nccl_comm *c, void *arg)
{
	const struct addition *a = arg;

	return newer_register(c->handle, a->piece->p, a->n, c->gpu->registers == 2,
			      &a->piece->registered);
}

static ncclResult_t drop(struct nccl_comm *c, void *handle)
{
	newer_deregister(c->handle, handle, c->gpu->registers == 2);
	return ncclSuccess;
}

int nccl_add_memory(struct comm *comm, void *p, size_t n, struct err *e)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	const char *what = c->gpu->registers == 2 ? "ncclCommWindowRegister" : "ncclCommRegister";
	struct gpu_piece *piece = gpu_piece_at(c->gpu, p);
	ncclResult_t r;

	if (!c->gpu->registers || !piece)
		return 0;
	r = nccl_ask(c, add, &(struct addition){piece, n});
	if (r != ncclSuccess && r != ncclInProgress)
		return nccl_fail_result(c, what, r, e);
	return nccl_await(c, what, false, e);
}

void nccl_drop_memory(struct comm *comm, void *p)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	struct gpu_piece *piece = gpu_piece_at(c->gpu, p);
	static const char what[] = "ncclCommDeregister";
	struct err ignored = {0};
	ncclResult_t r;

	/* after a failure there is no communicator left to take it back */
	if (!piece || !piece->registered || !c->handle ||
	    nccl_settle(c, "the last collective", &ignored))
		return;
	r = nccl_ask(c, drop, piece->registered);
	if (r != ncclSuccess) { /* it was cut */
		(void)nccl_fail_result(c, what, r, &ignored);
		return;
	}
	piece->registered = NULL;
	(void)nccl_await(c, what, false, &ignored);
}
