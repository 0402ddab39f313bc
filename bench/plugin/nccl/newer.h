#ifndef BENCH_PLUGIN_NCCL_NEWER_H
#define BENCH_PLUGIN_NCCL_NEWER_H
/*
 * What NCCL has learned since the oldest that this plug-in works with. Neither the
 * headers that it was built with nor the library that it runs with need to have it:
 * newer_needs() says which version would.
 */
#include "bench/plugin/nccl/vendor.h"

enum newer_call {
	NEWER_SPLIT,
	NEWER_MEMORY,
	NEWER_REGISTER,
	NEWER_WINDOW,
	NEWER_EXCHANGE, /* alltoall, gather and scatter came together */
	NEWER_CALLS
};

/* 0: it is there; else ERR_ABSENT. */
int newer_needs(const struct vendor *v, enum newer_call c, struct err *e) MUST_CHECK;
bool newer_has(enum newer_call c);
/* For comm_world.registers. */
int newer_register_needs(const struct vendor *v, unsigned registers, struct err *e) MUST_CHECK;

/* Colour -1: takes part without getting one. As non-blocking as the parent. */
ncclResult_t newer_split(ncclComm_t parent, int colour, int key, ncclComm_t *ret);
ncclResult_t newer_mem_alloc(void **ret, size_t n);
void newer_mem_free(void *p);
/* @symmetric: as a window, collectively. */
ncclResult_t newer_register(ncclComm_t c, void *p, size_t n, bool symmetric, void **ret);
void newer_deregister(ncclComm_t c, void *handle, bool symmetric);

/* What these calls have in common; @root: of gather and scatter. */
struct newer_exchange {
	const void *send;
	void *recv;
	size_t count;
	ncclDataType_t type;
	int root;
	ncclComm_t comm;
	cudaStream_t stream;
};
ncclResult_t newer_exchange(enum coll_kind kind, const struct newer_exchange *x);

#endif
