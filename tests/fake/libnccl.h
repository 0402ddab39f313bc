#ifndef TESTS_FAKE_LIBNCCL_H
#define TESTS_FAKE_LIBNCCL_H
/* Shared by the files of the stand-in for NCCL. */
#include "bench/comm/types.h"
#include "lib/core/base.h"

#include <nccl.h>
#include <sys/mman.h>

enum { RANKS = 8, SLOT = 64 << 20 /* sparse */, GROUPED = 32, MADE = 16 };

/*
 * What a communicator was asked for is done while it is asked how far it is, in two meetings
 * of all ranks: everybody's bytes lie there after the first, and were read after the second.
 */
enum fake_kind {
	FAKE_NOTHING,
	FAKE_JOIN,
	FAKE_WINDOW,
	FAKE_ALL_REDUCE,
	FAKE_REDUCE,
	FAKE_REDUCE_SCATTER,
	FAKE_BROADCAST,
	FAKE_ALL_GATHER,
	FAKE_PARCELS
};
struct fake_parcel {
	const void *from;
	void *to;
	size_t n;
	int peer;
};
struct fake_op {
	enum fake_kind kind;
	int phase;
	unsigned target; /* so many have to arrive */
	const void *send;
	void *recv;
	size_t count;
	enum dtype type;
	enum redop op;
	bool is_captured; /* kept in a graph, and not done */
	ncclRedOp_t made; /* of OP_MULSUM */
	int root;
	void *stream;
	struct fake_parcel parcels[2 * RANKS];
	int nparcels;
	void *window, **window_to;
};
struct ncclComm {
	int rank, size, operations;
	unsigned round; /* of the barrier */
	struct shared {
		unsigned arrived;
		bool closed;			      /* a rank's connections */
		char where[RANKS][16];		      /* its address, where bytes are carried */
		_Alignas(64) char slots[RANKS][SLOT]; /* for vectors of any type */
	} * shared;
	char path[160];
	struct fake_op op;
	struct fake_op later[GROUPED]; /* of the group that @op is of */
	int nlater;
	ncclResult_t failed;
	/* ncclCommSplit: the new one is known when its parent has been asked twice */
	int splits, splitting;
	struct ncclComm *part, **part_to;
	struct fake_made { /* ncclRedOpCreatePreMulSum */
		bool is_there;
		enum dtype type;
		uint64_t times;
	} made[MADE];
	int finalizing; /* likewise; 1: finalized */
	bool is_part;
	int graphs;	/* operations that one has */
	bool on_stream; /* an operation is at work there: nobody needs to ask for it */
	bool blocks;	/* calls come back when they are done, and operations when they are there */
};

bool fake_mode(const char *name);
void fake_meet(struct ncclComm *c);
bool fake_join(struct ncclComm *c, const char *path, int size, int rank);
void fake_split_goes_on(struct ncclComm *c);
void fake_nothing_is_left(void);	/* of what was registered: says so else */
void fake_is_outside(const char *what); /* says so where it is not */
/* Says so, and what asked, where the one before is not finished: NCCL refuses that. */
bool fake_is_ready(struct ncclComm *c, const char *what);
ncclResult_t fake_finish(struct ncclComm *c);		    /* what was begun, of one that blocks */
void fake_hang(const char *mode, const struct ncclComm *c); /* never comes back, in that mode */
bool fake_has_context(const char *what); /* of the driver's, current in this thread */

/* --- libnccl_ops.c --- */
ncclResult_t fake_begin(struct ncclComm *c, const struct fake_op *op, const char *what);
void fake_go_on(struct ncclComm *c);
/* --- libnccl_carry.c: nothing, but where WINDSOCK_FAKE_NCCL is "carried" --- */
bool fake_carry_join(struct ncclComm *c);
bool fake_carry(const struct ncclComm *c, const void *from, size_t n);

/* --- libnccl_graph.c --- */
bool fake_is_captured(void *stream); /* what is put there */
/* Of the graph that the stream is captured into, if it is. */
ncclResult_t fake_onto_stream(struct ncclComm *c, const struct fake_op *op);
void fake_graphs_join(struct ncclComm *c);
void fake_graphs_leave(struct ncclComm *c); /* who gives it back while there is a graph waits */

extern struct ncclComm *fake_at_work; /* whose kernel the GPU is at, as far as anybody can know */

#endif
