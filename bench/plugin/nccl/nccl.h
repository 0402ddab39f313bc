#ifndef BENCH_PLUGIN_NCCL_NCCL_H
#define BENCH_PLUGIN_NCCL_NCCL_H
/* Private to this folder: a communicator of NCCL's. */
#include "bench/plugin/cards.h"
#include "bench/plugin/guard.h"
#include "bench/plugin/nccl/cuda.h"
#include "bench/plugin/nccl/pace.h"
#include "bench/plugin/transport.h"

struct nccl_group { /* of operations that go onto the stream as one */
	bool is_open;
	enum coll_kind kind;
	uint64_t bytes;
};
struct nccl_graph {   /* of the stream: what was captured, ready to be launched */
	bool is_open; /* the stream is being captured: what is not a request would spoil it */
	CUgraph graph;
	CUgraphExec exec;
	enum coll_kind kind;
	uint64_t bytes;
};
struct nccl_asking {
	bool blocks;  /* calls do; all that follows is of those */
	bool was_cut; /* one was left, or not begun any more */
	struct watch watch;
	struct guard guard;
	uint64_t since_ns; /* when the last one began */
	int granted;	   /* atomic: deadlines that it had beyond its own */
};
struct nccl_comm {
	struct comm comm;
	ncclComm_t handle;
	struct nccl_comm *root; /* of its family; itself, in one that is not a part */
	struct nccl_comm *next; /* of the family, the root in front */
	struct gpu_dev *gpu;
	double speed[COLL_KINDS]; /* as pace.h has it */
	unsigned used;		  /* kinds, a bit set */
	struct nccl_group group;
	ncclRedOp_t mulsums[DT_COUNT];
	unsigned has_mulsums; /* types of those, a bit set */

	/* the root's alone */
	struct nccl_comm
		*busy;	  /* whose work on the stream nobody waited for; NULL: there is none */
	struct pace pace; /* of that work */
	struct nccl_graph graph;
	struct cards cards;
	char transport[640];
	bool own_calls;	    /* this NCCL has some for alltoall, gather and scatter */
	const char *doubts; /* settings that differ between ranks; NULL: none do */
	int (*exchange)(void *arg, const void *mine, size_t n, void *all, struct err *e);
	void *exchange_arg; /* both are comm_world's */
	uint64_t deadline_ns;
	size_t logged; /* bytes, when it was last looked at */
	int stop_fds[2];
	const char *abort_reason; /* atomic */
	struct nccl_asking asking;
	char *stage[2]; /* GPU memory that stands in for the host's: send, recv */
	size_t staged;
	struct arena arena; /* of the texts below */
	transport_list pairs;
	struct transport_cards own_cards; /* RDMA, of this rank */
	struct err failure;		  /* kind ERR_NONE: healthy */
};

/* Puts the request's calls on the stream; does not wait. */
ncclResult_t nccl_call(struct nccl_comm *c, const struct comm_request *q);
/* What calls have left behind in a communicator with nothing under way. */
void nccl_calls_done(struct nccl_comm *c);

/* --- abort.c --- */
/*
 * After a failure: all of the family. @first is what the GPU is at: giving back the memory of
 * another one would wait for its kernel.
 */
void nccl_abort_all(struct nccl_comm *first);

/* --- ask.c --- */
/* Of a root, before it asks NCCL for anything. */
int nccl_ask_begin(struct nccl_comm *c, const struct comm_world *w, struct err *e) MUST_CHECK;
typedef ncclResult_t nccl_fn(struct nccl_comm *c, void *arg);
/* Of NCCL, what may block. Comes back in any case; nccl_fail_result() knows why. */
ncclResult_t nccl_ask(struct nccl_comm *c, nccl_fn *fn, void *arg);
void nccl_ask_end(struct nccl_comm *c);

/* --- float8.c --- */
/* Collective: which types there are, on all ranks. */
int nccl_float8(struct nccl_comm *c, const struct comm_world *w, struct comm_caps *caps,
		struct err *e) MUST_CHECK;

/* --- graph.c --- */
int nccl_capture_begin(struct comm *comm, struct err *e);
int nccl_capture_end(struct comm *comm, struct err *e);
int nccl_replay(struct comm *comm, struct err *e);
void nccl_capture_forget(struct comm *comm);

/* --- judge.c --- */
bool nccl_judge(const struct comm *comm, struct comm_finding *ret);

/* --- part.c --- */
/* Frees @c; but a thread of NCCL's may still write what a call that was left was to fill. */
void nccl_discard(struct nccl_comm *c);
int nccl_split(struct comm *comm, const struct comm_group *g, struct comm **ret, struct err *e);
int nccl_add_memory(struct comm *comm, void *p, size_t n, struct err *e);
void nccl_drop_memory(struct comm *comm, void *p);

/* --- submit.c --- */
/* No work of the family's is left on the stream. */
int nccl_settle(struct nccl_comm *c, const char *what, struct err *e);
/* @q's memory is the GPU's. */
int nccl_submit(struct nccl_comm *c, const struct comm_request *q, struct err *e);
int nccl_group_begin(struct comm *comm, struct err *e);
int nccl_group_end(struct comm *comm, struct err *e);

/* --- wait.c --- */
/* Is what took its deadline to have another one, after *had? @connects: that takes long. */
bool nccl_grants(struct nccl_comm *c, bool connects, int *had);
/* All return -1 with the root's failure filled, and copied to @e. */
int nccl_fail(struct nccl_comm *c, const char *what, struct err *e);
int nccl_fail_result(struct nccl_comm *c, const char *what, ncclResult_t r, struct err *e);
/* Until NCCL took what it was asked for (and, with @stream, until the GPU has done it). */
int nccl_await(struct nccl_comm *c, const char *what, bool stream, struct err *e);
/* What was put on the stream is to be watched. */
int nccl_note(struct nccl_comm *c, enum coll_kind kind, uint64_t bytes, struct err *e);
/* Is what is under way done? Does not wait. */
int nccl_poll(struct nccl_comm *c, const char *what, bool *ret_finished, struct err *e);
/* Gives a healthy communicator back, with nothing left on the stream. */
void nccl_end(struct nccl_comm *c);

#endif
