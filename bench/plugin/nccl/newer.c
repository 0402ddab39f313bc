#include "bench/plugin/nccl/newer.h"

#include <dlfcn.h>

#define BUILT_WITH(minor, patch) (NCCL_VERSION_CODE >= NCCL_VERSION(2, minor, patch))

static const struct {
	const char *names[4]; /* the first is said; what takes it back, or came with it */
	const char *since;
	bool built;
} calls[NEWER_CALLS] = {
	[NEWER_SPLIT] = {{"ncclCommSplit"}, "2.18", BUILT_WITH(18, 1)},
	[NEWER_MEMORY] = {{"ncclMemAlloc", "ncclMemFree"}, "2.19", BUILT_WITH(19, 1)},
	[NEWER_REGISTER] = {{"ncclCommRegister", "ncclCommDeregister"}, "2.19", BUILT_WITH(19, 1)},
	[NEWER_WINDOW] = {{"ncclCommWindowRegister", "ncclCommWindowDeregister"},
			  "2.27",
			  BUILT_WITH(27, 1)},
	[NEWER_EXCHANGE] = {{"ncclAlltoAll", "ncclGather", "ncclScatter"},
			    "2.28",
			    BUILT_WITH(28, 0)},
};

bool newer_has(enum newer_call c)
{
	const char *const *name = calls[c].names;

	while (*name && dlsym(RTLD_DEFAULT, *name))
		name++;
	return calls[c].built && !*name;
}

int newer_needs(const struct vendor *v, enum newer_call c, struct err *e)
{
	char version[32];

	if (newer_has(c))
		return 0;
	vendor_version(v->nccl, version, sizeof(version));
	if (!calls[c].built) {
		err_set(e, ERR_ABSENT, "this program was built with headers that have no %s",
			calls[c].names[0]);
		return err_hint(e, "build it with those of NCCL %s or newer", calls[c].since);
	}
	err_set(e, ERR_ABSENT, "%s is NCCL %s and has no %s", v->nccl_path, version,
		calls[c].names[0]);
	return err_hint(e, "NCCL %s is the first that does: --nccl PATH chooses another one",
			calls[c].since);
}

int newer_register_needs(const struct vendor *v, unsigned registers, struct err *e)
{
	if (!registers)
		return 0;
	if (newer_needs(v, NEWER_MEMORY, e))
		return -1;
	return newer_needs(v, registers == 2 ? NEWER_WINDOW : NEWER_REGISTER, e);
}

ncclResult_t newer_split(ncclComm_t parent, int colour, int key, ncclComm_t *ret)
{
#if BUILT_WITH(18, 1)
	return ncclCommSplit(parent, colour, key, ret, NULL); /* configured as its parent */
#else
	(void)parent, (void)colour, (void)key, (void)ret;
	return ncclInvalidUsage;
#endif
}

ncclResult_t newer_mem_alloc(void **ret, size_t n)
{
#if BUILT_WITH(19, 1)
	return ncclMemAlloc(ret, n);
#else
	(void)ret, (void)n;
	return ncclInvalidUsage;
#endif
}

void newer_mem_free(void *p)
{
#if BUILT_WITH(19, 1)
	(void)ncclMemFree(p);
#else
	(void)p;
#endif
}

ncclResult_t newer_register(ncclComm_t c, void *p, size_t n, bool symmetric, void **ret)
{
#if BUILT_WITH(27, 1)
	if (symmetric)
		return ncclCommWindowRegister(c, p, n, (ncclWindow_t *)ret,
					      NCCL_WIN_COLL_SYMMETRIC);
#endif
#if BUILT_WITH(19, 1)
	if (!symmetric)
		return ncclCommRegister(c, p, n, ret);
#endif
	(void)c, (void)p, (void)n, (void)symmetric, (void)ret;
	return ncclInvalidUsage;
}

void newer_deregister(ncclComm_t c, void *handle, bool symmetric)
{
#if BUILT_WITH(27, 1)
	if (symmetric)
		(void)ncclCommWindowDeregister(c, handle);
#endif
#if BUILT_WITH(19, 1)
	if (!symmetric)
		(void)ncclCommDeregister(c, handle);
#endif
	(void)c, (void)handle, (void)symmetric;
}

ncclResult_t newer_exchange(enum coll_kind kind, const struct newer_exchange *x)
{
#if BUILT_WITH(28, 0)
	if (kind == COLL_ALLTOALL)
		return ncclAlltoAll(x->send, x->recv, x->count, x->type, x->comm, x->stream);
	if (kind == COLL_GATHER)
		return ncclGather(x->send, x->recv, x->count, x->type, x->root, x->comm, x->stream);
	if (kind == COLL_SCATTER)
		return ncclScatter(x->send, x->recv, x->count, x->type, x->root, x->comm,
				   x->stream);
#endif
	(void)kind, (void)x;
	return ncclInvalidUsage;
}
