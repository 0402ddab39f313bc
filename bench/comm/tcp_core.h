#ifndef BENCH_COMM_TCP_CORE_H
#define BENCH_COMM_TCP_CORE_H
/*
 * Private to bench/comm/tcp*.c. A collective is a plan: for every lane (a
 * socket to a peer) what to send, in order; and one list of steps, what to
 * receive from where and what to do with it, in order. tcp_plan_*.c write plans,
 * tcp_engine.c carries them out, tcp_mesh.c connects, tcp_door.c is where others
 * come in, tcp_words.c finds out who is to blame when it does not go on.
 *
 * Why no plan can lock up: all ranks' steps follow one order (block by block),
 * a send waits only for steps of earlier blocks, and a rank sends on all lanes
 * whatever step it waits in. So the earliest unfinished step of all ranks can
 * always go on.
 */
#include "bench/comm/place.h"
#include "bench/comm/reduce.h"
#include "bench/comm/tcp.h"
#include "lib/core/arena.h"
#include "lib/core/silence.h"

#include <poll.h>

enum { TCP_BLOCK = 128 << 10, TCP_POLL_FIXED = 4 };

struct tcp_send {
	const char *p;
	size_t n;
	size_t after; /* so many steps must be finished first */
};

struct tcp_lane {
	int fd, peer;
	LIST(struct tcp_send) sends;
	size_t at, off; /* done sends; bytes of the next one */
};

enum step_kind { STEP_STORE, STEP_REDUCE, STEP_COPY };
struct tcp_step {
	enum step_kind kind;
	bool divide;	   /* after the last reduction of an average */
	bool theirs_first; /* reduce: the incoming operand goes left, for equal bits everywhere */
	size_t lane;
	char *to;
	const char *with; /* reduce: our operand; copy: the source */
	size_t n;
	size_t hold_sends; /* apply it only when so many sends of hold_lane are done */
	size_t hold_lane;
};
#define NO_HOLD SIZE_MAX

struct tcp_peer {
	struct comm_peer pub;
	char host[COMM_PLACE_TEXT];
	struct addr_text address;
	int words;	/* the socket for last words */
	bool is_local;	/* on our machine: shares our processors */
	bool is_looped; /* and has our address: what goes there stays in memory */
	bool left;	/* said goodbye */
	bool closed;	/* its words end here; our own: always */
	int blames;	/* the rank that it waited for in vain, -1: none */
	int deaf;	/* the one that its data did not reach then, -1: none */
};

struct tcp {
	struct comm comm;
	/*
	 * A part (comm_split()) has plans of its own and everything that goes on the wire,
	 * or wrong, from its root: sockets, last words, failure. There ranks are the root's:
	 * of @peers, lanes[].peer, waited_ns and all that tcp_words.c says.
	 */
	struct tcp *root;   /* itself, in one that is not a part */
	struct tcp *active; /* root: whose request is under way; NULL: nobody's */
	int npeers;	    /* the root's size */
	uint64_t look_ns;   /* root: when a part that is never idle hears the others again */
	struct arena arena; /* of the lists of plans; they are used again and again */
	uint64_t deadline_ns;
	bool deadline_given; /* as in struct tcp_opts */
	int stop_fds[2];
	struct tcp_peer *peers; /* by the root's rank; our own too */
	unsigned nsockets;
	struct tcp_lane *lanes; /* peer * nsockets + socket; ours have fd -1 */
	size_t nlanes;
	char transport[128];
	bool crowded; /* more ranks here than processors: a spinning one steals from the others */
	bool few_messages; /* it is so on some machine; all ranks know it and plan alike */

	unsigned patience; /* looks at a socket before sleeping */
	/* who gave way and was kept from the processor for long had better slept */
	uint64_t robbed_pause_ns, robbed_until_ns;

	int home; /* a processor for us alone; -1: there are too few */
	uint64_t home_pause_ns, home_next_ns;

	/* for comm_tally() */
	bool is_large; /* the request: waiting is timed */
	uint64_t sent_bytes, *waited_ns;
	uint64_t *tallied_ns; /* a part's: the same by its own ranks */

	struct silence still; /* nothing moves, and it sleeps; since_ns 0: it goes on */

	/* the plan and how far it is */
	struct comm_request q;
	bool planned; /* the lists below are q's */
	bool running;
	LIST(struct tcp_step) steps;
	size_t at, off; /* finished steps; bytes of the next one */
	bool out_of_memory;
	size_t *busy, nbusy; /* lanes with something left to send */
	reduce_fn *reduce;
	size_t element; /* bytes */
	char *scratch;	/* TCP_BLOCK */
	char *temp;	/* partial results of ranks that keep none */
	size_t temp_n;
	char *multiplied; /* what this rank puts into a mulsum */
	size_t multiplied_n;
	char token; /* what a barrier sends */

	struct pollfd *set; /* TCP_POLL_FIXED + npeers + nlanes */

	/* failure: of the root's alone, but for abort_fd, which parts have too */
	int abort_fd;
	const char *abort_reason; /* atomic */
	struct err failure;	  /* kind ERR_NONE: healthy */
	int culprit;
	bool culprit_gone;
};

static inline const char *tcp_abort_reason(const struct tcp *t)
{
	return __atomic_load_n(&t->root->abort_reason, __ATOMIC_ACQUIRE);
}

/* --- tcp_mesh.c --- */
int tcp_connect(struct tcp *t, const struct tcp_opts *o, struct err *e) MUST_CHECK;

/* --- tcp_part.c --- */
int tcp_split(struct comm *c, const struct comm_group *g, struct comm **ret,
	      struct err *e) MUST_CHECK;
void tcp_part_free(struct tcp *t);
void tcp_own_free(struct tcp *t); /* it, and what it does not share with its parts */
/* In a part that never has to wait, bad news of another one is heard now and then. */
int tcp_part_look(struct tcp *t, struct err *e) MUST_CHECK;
static inline bool tcp_is_part(const struct tcp *t) { return t->root != t; }

/* --- tcp_cards.c --- */
/*
 * Ranks that sit on one processor wait for each other even while they spin, and
 * the kernel is in no hurry to part them. Each has its own, and goes back there
 * where waiting takes long; now and then, as the kernel may know better.
 */
void tcp_go_home(struct tcp *t);

/* --- tcp_plan.c: writing plans --- */
void plan_begin(struct tcp *t);
void plan_send(struct tcp *t, int peer, size_t block, const void *p, size_t n, size_t after);
void plan_store(struct tcp *t, int peer, size_t block, void *to, size_t n);
struct tcp_step *plan_reduce(struct tcp *t, int peer, size_t block, void *to, const void *with,
			     size_t n);
void plan_copy(struct tcp *t, void *to, const void *from, size_t n); /* no-op where they are one */
/* The latest step waits until what was planned for this lane so far is sent. */
void plan_hold(struct tcp *t, int peer, size_t block);
struct tcp_step *plan_last(struct tcp *t);
size_t plan_now(const struct tcp *t);	  /* for @after: everything so far */
char *plan_temp(struct tcp *t, size_t n); /* NULL: there is none, and the plan is void */
void plan_request(struct tcp *t);	  /* of t->q */
/* Each time that a request begins: what it sends is multiplied, elsewhere. False: no memory. */
bool plan_multiply(struct tcp *t, struct comm_request *q);

/* Whom a rank meets in round @k of 0..size-1: its own number in one of them. */
static inline int plan_partner(const struct tcp *t, int k)
{
	return (k - t->comm.rank + t->comm.size) % t->comm.size;
}
struct tree {
	int parent; /* -1: the root */
	int nchildren;
	int children[64];
};
void plan_tree(const struct tcp *t, int root, struct tree *ret);

/* --- tcp_plan_reduce.c, tcp_plan_move.c --- */
void plan_all_reduce(struct tcp *t);
void plan_reduce_to_root(struct tcp *t);
void plan_reduce_scatter(struct tcp *t);
void plan_broadcast(struct tcp *t);
void plan_exchange(struct tcp *t); /* all_gather, gather, scatter, alltoall(v), sendrecv */
void plan_barrier(struct tcp *t);

/* --- tcp_engine.c --- */
int tcp_run(struct tcp *t, bool wait, struct err *e) MUST_CHECK; /* until finished, or once */
/* The peer without which it cannot go on; -1: none. */
int tcp_waits_for(const struct tcp *t);
static inline bool tcp_finished(const struct tcp *t) { return t->at == t->steps.n && !t->nbusy; }

/* Look again in so long; 0: the deadline has passed, and for *@ret_slept_ns of it (0: no matter) we
 * did not run ourselves. */
uint64_t tcp_look(const struct tcp *t, struct silence *s, uint64_t *ret_slept_ns) MUST_CHECK;

/* --- tcp_words.c: all return -1 with the sentence --- */
int tcp_fail_closed(struct tcp *t, int peer, int error, struct err *e); /* its data socket ended */
int tcp_fail_silent(struct tcp *t, int peer, struct err *e);
/* We did not run ourselves for so long: nobody is to blame. Those with whom there is no connection
 * yet are not told. */
int tcp_fail_asleep(struct tcp *t, uint64_t slept_ns, struct err *e);
int tcp_fail_aborted(struct tcp *t, const char *reason, struct err *e);
int tcp_failed(const struct tcp *t, struct err *e); /* what it failed of before */
/* Reads what @peer said; -1: it is, or was told of, a failure. */
int tcp_hear(struct tcp *t, int peer, struct err *e) MUST_CHECK;
/* For who could not even connect: stays a moment, so that others learn for whom it waited. */
void tcp_tell_waited(struct tcp *t, int peer);
void tcp_goodbye(struct tcp *t);

/* --- tcp_scarce.c --- */
/* What to do where @error means that this host ran out of something; NULL: it does not. */
const char *tcp_scarce(int error);

/* --- tcp_wire.c --- */
bool tcp_wire(const struct comm *c, int peer, struct comm_wire *ret);
/* A peer whose host does not acknowledge what we send again and again (that of a stopped process
 * does); -1: none. */
int tcp_deaf_peer(const struct tcp *t);

#endif
