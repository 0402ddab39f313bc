#ifndef BENCH_COMM_COMM_H
#define BENCH_COMM_COMM_H
/*
 * The collectives, whoever carries them. All ranks of a communicator ask for
 * the same things in the same order; a request that one rank cannot serve, or a
 * peer that is lost, ends the whole communicator with a sentence that names the
 * rank and its host. Nothing waits longer than the deadline without progress.
 *
 * A communicator belongs to one thread. The exception is comm_abort(), which
 * any thread and any signal handler may call.
 *
 *	struct comm_request q = {.kind = COLL_ALL_REDUCE, .send = a, .recv = b,
 *				 .count = n, .type = DT_FLOAT, .op = OP_SUM};
 *	if (comm_run(c, &q, e))
 *		return -1;
 */
#include "bench/comm/types.h"
#include "lib/core/err.h"

enum coll_kind {
	COLL_ALL_REDUCE,
	COLL_ALL_GATHER,
	COLL_REDUCE_SCATTER,
	COLL_BROADCAST,
	COLL_REDUCE,
	COLL_ALLTOALL,
	COLL_ALLTOALLV,
	COLL_GATHER,
	COLL_SCATTER,
	COLL_SENDRECV, /* to the next rank, from the one before */
	COLL_BARRIER,
	COLL_KINDS
};

/*
 * @count is what one rank contributes to or gets of one peer: of the whole
 * buffer for all_reduce, broadcast, reduce and sendrecv, of one rank's part for
 * the others (the other buffer is @count times the number of ranks then). In
 * place as NCCL has it: send == recv, for all_gather and gather send == recv +
 * rank's part, for reduce_scatter and scatter recv == send + rank's part.
 * Buffers that a rank has no part in may be NULL (recv of reduce and gather, send
 * of broadcast and scatter, away from the root). Of OP_MULSUM a rank's number is that of its
 * rank in this communicator.
 */
struct comm_request {
	enum coll_kind kind;
	const void *send;
	void *recv;
	size_t count;
	enum dtype type;
	enum redop op;
	int root;
	/* alltoallv: elements per peer; parts lie one after the other, @count is not used */
	const size_t *send_counts, *recv_counts;
};

enum comm_memory { COMM_HOST = 1, COMM_CUDA = 2 };
struct comm_caps {
	const char *backend;	 /* "tcp", "nccl" ... */
	unsigned kinds, types;	 /* bit sets */
	const char *lacks_types; /* why some types are not among them; NULL: it never has them */
	unsigned ops;
	unsigned memory; /* enum comm_memory, as a set */
	/* alltoall and sendrecv with send == recv; alltoallv too, where each two ranks send each
	 * other as much as they get */
	bool in_place_exchange;
	const char *exchanges; /* what does alltoall, gather and scatter; NULL: not worth a word */
	int version; /* of its library, as that has it: 22809; 0: none, or it is not known */
	const char *small_sizes; /* what to know of their times; NULL: nothing */
};

struct comm_peer { /* how another rank (or this one) is reached */
	const char *host, *address, *device;
	const char
		*bus; /* the GPU's place, "0000:53:00"; NULL: there is none, or it is not known */
	int gpu;      /* its number, among those that the rank may use */
	int pid;
	bool same_machine; /* as this rank: they share its processors */
};

struct comm {
	const struct comm_impl *impl;
	int rank, size;
	int *origin; /* by rank: its number where it all began (comm_split()); NULL: that is here */
};

const struct comm_caps *comm_caps(const struct comm *c);
/* 0: it knows the type; else ERR_ABSENT, the same on all ranks. */
int comm_check_type(const struct comm *c, enum dtype t, struct err *e) MUST_CHECK;
int comm_check_op(const struct comm *c, enum redop op, struct err *e) MUST_CHECK; /* likewise */
const struct comm_peer *comm_peer(const struct comm *c, int rank);
/* One line about how data travels: "1 socket per peer, bbr". The communicator's own text. */
const char *comm_transport(const struct comm *c);
/* In there where it is so: how fast they are is then no word on any link. */
#define COMM_SHARED_GPU "ranks share a GPU"
/* Likewise: data may go by other cards than those that our addresses are of. */
#define COMM_WAY_UNKNOWN "no connection was logged"

/* What a request moves past one of @ranks, at most; on a bad network that many share, so fast. */
uint64_t comm_bytes(const struct comm_request *q, int ranks);
enum { COMM_LEAST_BYTES_PER_S = 10 * 1000 * 1000 };

/*
 * Starts a request; it moves on whenever this communicator is asked something.
 * Requests finish in the order in which they were started; starting one more
 * may wait for those before it. The buffers are the communicator's until
 * comm_wait() returned or comm_test() said that everything is finished.
 */
int comm_start(struct comm *c, const struct comm_request *q, struct err *e) MUST_CHECK;
int comm_test(struct comm *c, bool *ret_finished, struct err *e) MUST_CHECK;
int comm_wait(struct comm *c, struct err *e) MUST_CHECK;
int comm_run(struct comm *c, const struct comm_request *q, struct err *e) MUST_CHECK;
int comm_barrier(struct comm *c, struct err *e) MUST_CHECK;

/*
 * Requests between the two, of @c alone and in its kind of memory, are handed over together where
 * a backend can do that: they cost one start. None is under way before comm_group_end(), and
 * after a failure there is no group any more.
 */
int comm_group_begin(struct comm *c, struct err *e) MUST_CHECK;
int comm_group_end(struct comm *c, struct err *e) MUST_CHECK;

/*
 * Requests between the first two, of @c alone and in its kind of memory, are not carried out but
 * kept; each replay starts all of them once more, on the same buffers. Beginning waits for what
 * is under way. ERR_ABSENT: it cannot be done here, and nothing has changed; ranks have
 * to agree then, since a replay of one rank needs one of each. One recording at a time: beginning
 * forgets the one before, and so does a failure of the communicator, or its end.
 */
bool comm_can_capture(const struct comm *c);
int comm_capture_begin(struct comm *c, struct err *e) MUST_CHECK;
int comm_capture_end(struct comm *c, struct err *e) MUST_CHECK;
int comm_replay(struct comm *c, struct err *e) MUST_CHECK;
/* Nothing of it is under way. */
void comm_capture_forget(struct comm *c);

/*
 * Collective over @c: ranks of one @colour (0 ...) become a communicator of their own,
 * ordered by @key, and by their rank where keys are equal. With COMM_NO_COLOUR a rank
 * takes part in the splitting only: *ret is NULL then, as on failure.
 *
 * A communicator, its parts and theirs are one family, which lives and dies together:
 * one failure, one abort is that of all, and what this process starts in one of them
 * waits for what it has under way in another. Sentences and comm_culprit() have the
 * ranks of the communicator that the family began with, whose names everybody knows.
 * Two ranks have to use the communicators that both are in, in the same order. Parts
 * are freed before what they were split from.
 */
#define COMM_NO_COLOUR (-1)
int comm_split(struct comm *c, int colour, int key, struct comm **ret, struct err *e) MUST_CHECK;
/* The number of @rank in the communicator that the family began with. */
int comm_origin(const struct comm *c, int rank);

/*
 * Collective, and may come to nothing: @p, of the communicator's memory, is what requests
 * will use from now on. Who registers buffers with a network does it here; what is
 * registered is given back before it is freed.
 */
int comm_register(struct comm *c, void *p, size_t n, struct err *e) MUST_CHECK;
void comm_unregister(struct comm *c, void *p);

/*
 * What is under way, and everything later, fails soon, here with @reason and
 * at the peers with a sentence that has it. @reason stays the caller's; it must live.
 */
void comm_abort(struct comm *c, const char *reason);
/*
 * The rank (of where the family began) that is at fault for a failure, -1 when there
 * was none or it is nobody's. *ret_gone: it closed its connection (and did not merely fall silent).
 */
int comm_culprit(const struct comm *c, bool *ret_gone);
/*
 * Packets that went to @peer, and how many of them again because they were lost; of these the
 * peer said that it had so many twice (RFC 2883): they were only late. False where nobody counts.
 */
struct comm_wire {
	uint64_t sent, again, twice;
};
bool comm_wire(const struct comm *c, int peer, struct comm_wire *ret);
/*
 * What this rank has sent so far, and how long it has waited for each rank while
 * large requests ran (for small ones everybody waits for the root of a tree). False
 * where nobody counts.
 */
struct comm_tally {
	uint64_t sent_bytes;
	const uint64_t *waited_ns; /* by rank; the communicator's */
};
bool comm_tally(const struct comm *c, struct comm_tally *ret);
/* Never fails. Without a failure before it, all ranks have to come to it. */
void comm_free(struct comm *c);

/* --- for implementations (bench/comm/tcp.h; plug-ins) ----------------------- */
struct comm_group { /* what a part consists of */
	int colour; /* COMM_NO_COLOUR: this rank is in none, and size is 0 */
	int rank, size;
	int *members; /* by rank: the parent's */
	int *origin;  /* for struct comm, which comm_free() frees */
};
struct comm_impl {
	struct comm_caps caps;
	const struct comm_peer *(*peer)(const struct comm *c, int rank);
	const char *(*transport)(const struct comm *c);
	int (*start)(struct comm *c, const struct comm_request *q, struct err *e);
	int (*test)(struct comm *c, bool *ret_finished, struct err *e);
	int (*wait)(struct comm *c, struct err *e);
	void (*abort)(struct comm *c, const char *reason);
	int (*culprit)(const struct comm *c, bool *ret_gone);
	void (*free)(struct comm *c);
	bool (*wire)(const struct comm *c, int peer, struct comm_wire *ret); /* may be NULL */
	bool (*tally)(const struct comm *c, struct comm_tally *ret);	     /* likewise */
	int (*add_memory)(struct comm *c, void *p, size_t n, struct err *e); /* likewise */
	void (*drop_memory)(struct comm *c, void *p);			     /* likewise */
	/* May be NULL. Collective over @c. *ret: NULL where @g is nobody. */
	int (*split)(struct comm *c, const struct comm_group *g, struct comm **ret, struct err *e);
	int (*group_begin)(struct comm *c, struct err *e); /* both may be NULL */
	int (*group_end)(struct comm *c, struct err *e);
	int (*capture_begin)(struct comm *c, struct err *e); /* all four, or NULL */
	int (*capture_end)(struct comm *c, struct err *e);
	int (*replay)(struct comm *c, struct err *e);
	void (*capture_forget)(struct comm *c);
};
const char *coll_kind_name(enum coll_kind k);

#endif
