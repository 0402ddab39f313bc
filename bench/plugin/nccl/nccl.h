#ifndef BENCH_PLUGIN_NCCL_NCCL_H
#define BENCH_PLUGIN_NCCL_NCCL_H
/* Private to this folder: a communicator of NCCL's. */
#include "bench/plugin/cards.h"
#include "bench/plugin/nccl/cuda.h"
#include "bench/plugin/transport.h"

struct nccl_comm {
	struct comm comm;
	struct gpu_dev *gpu;
	struct cards cards;
	ncclComm_t handle;
	char transport[320];
	uint64_t deadline_ns;
	int stop_fds[2];
	const char *abort_reason; /* atomic */
	bool busy;		  /* the stream has work that nobody waited for */
	char *stage[2];		  /* GPU memory that stands in for the host's: send, recv */
	size_t staged;
	struct arena arena; /* of the texts below */
	transport_list pairs;
	bool has_rdma;	    /* this host */
	struct err failure; /* kind ERR_NONE: healthy */
};

/* Puts the request's calls on the stream; does not wait. */
ncclResult_t nccl_call(struct nccl_comm *c, const struct comm_request *q);

/* --- wait.c: all return -1 with c->failure filled, and copied to @e --- */
int nccl_fail(struct nccl_comm *c, const char *what, struct err *e);
int nccl_fail_result(struct nccl_comm *c, const char *what, ncclResult_t r, struct err *e);
/* Until NCCL took what it was asked for (and, with @stream, until the GPU has done it). */
int nccl_await(struct nccl_comm *c, const char *what, bool stream, uint64_t bytes, struct err *e);

#endif
