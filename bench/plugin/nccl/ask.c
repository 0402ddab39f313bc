/*
 * What is asked of NCCL. A communicator that does not block only takes note, and is polled
 * (wait.c). One that blocks, as those of PyTorch and nccl-tests do, saves what NCCL since 2.23.4
 * does for each operation of the other kind: it starts a thread. A call of it that does not come
 * back is left (guard.h).
 */
#include "bench/plugin/nccl/nccl.h"

#include "lib/core/units.h"
#include "lib/host/nccl_alike.h"

static const char variable[] = "NCCL_COMM_BLOCKING"; /* NCCL heeds it more than what it is asked */

static bool blocks(const struct comm_world *w)
{
	AUTO(arena_done) struct arena a = {0};
	const char *set;

	if (w->calls_block)
		(void)setenv(variable, "1", 1);
	set = nccl_setting_here(variable, &a);
	return set && streq(set, "1");
}

static struct nccl_comm *asking_of(void *guard)
{
	struct nccl_asking *a = CONTAINER_OF((struct guard *)guard, struct nccl_asking, guard);

	return CONTAINER_OF(a, struct nccl_comm, asking);
}

static bool grants(void *guard)
{
	struct nccl_comm *root = asking_of(guard);
	int had = __atomic_load_n(&root->asking.granted, __ATOMIC_RELAXED);
	bool more = nccl_grants(root, root->pace.is_new, &had);

	__atomic_store_n(&root->asking.granted, had, __ATOMIC_RELAXED);
	return more;
}

int nccl_ask_begin(struct nccl_comm *c, const struct comm_world *w, struct err *e)
{
	struct nccl_asking *a = &c->asking;

	a->blocks = blocks(w);
	if (!a->blocks)
		return 0;
	if (guard_start(&a->guard, &a->watch, w, "NCCL", e))
		return -1;
	a->watch.grants = grants;
	return 0;
}

struct question {
	nccl_fn *fn;
	struct nccl_comm *c;
	void *arg;
	ncclResult_t answer;
};

static void put(void *arg)
{
	struct question *q = arg;

	q->answer = q->fn(q->c, q->arg);
}

ncclResult_t nccl_ask(struct nccl_comm *c, nccl_fn *fn, void *arg)
{
	struct nccl_asking *a = &c->root->asking;
	struct question q = {fn, c, arg, ncclSystemError};
	enum guard_end end;

	if (!a->blocks)
		return fn(c, arg);
	if (!watch_cause(&a->watch)) { /* else this one is not begun for the one before it */
		__atomic_store_n(&a->granted, 0, __ATOMIC_RELAXED);
		a->since_ns = now_ns();
	}
	end = guard_call(&a->guard, 0, put, &q);
	if (end == GUARD_BACK)
		return q.answer;
	a->was_cut = true;
	c->gpu->dev.is_lost |= end == GUARD_LEFT;
	return ncclSystemError;
}

void nccl_ask_end(struct nccl_comm *c) { watch_done(&c->asking.watch); }
