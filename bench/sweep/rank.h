#ifndef BENCH_SWEEP_RANK_H
#define BENCH_SWEEP_RANK_H
/*
 * What one rank of a benchmark does, from the communicator to its last event.
 * Rank 0 tells what was measured; whoever notices a lost rank tells that.
 */
#include "bench/comm/backend.h"
#include "bench/ranks/relay.h"
#include "bench/sweep/hardware.h"
#include "bench/sweep/sweep.h"
#include "lib/cluster/launch.h"

enum rank_mode { RANK_SWEEP, RANK_PAIRS, RANK_REPLAY };

struct rank_opts {
	struct sweep_opts sweep; /* max may be lowered to what memory allows */
	enum rank_mode mode;
	const char *backend, *bind; /* bind NULL: the address that the world gave us */
	const char *library;
	unsigned registers; /* as comm_world has it, and the next one */
	bool calls_block;
	const char *rails; /* pairs: "auto", "none" or interfaces; NULL: auto */
	bool together;	   /* pairs: all at once, too */
	unsigned sockets;
	uint64_t deadline_ns; /* of this rank: see alike_check() */
	bool deadline_given;  /* as comm_world has it */
	bool with_times;      /* of single iterations, in the events */
	const char *groups;   /* --groups; NULL: all ranks are one */
	const char *replay;   /* what is done again, as traffic_pack() has it: rank 0's */
};

struct rank {
	const struct rank_opts *o;
	struct world_run *w;
	struct relay *relay;
	struct arena *a;
	const struct comm_plugin *backend;
	struct dev *dev;
	struct comm *comm;
	int culprit;	   /* of the failure of a communicator beside it; -1: none */
	const char *check; /* the failure is a finding of this id; NULL: the backend knows */
	bool all_know;	   /* each rank found that failure by itself */
	struct sweep_opts sweep;
	str_list notes;
	union addr at;
	uint64_t deadline_ns;	    /* of all ranks */
	const char *told_ways;	    /* comm_transport(), as it was told */
	struct comm_finding told;   /* what was wrong with that; check NULL: nothing */
	struct comm_finding unused; /* check NULL: no GPU was left unused that should not be */
	struct hardware_ask cloud;
	struct hardware *hardware;   /* by rank */
	const struct groups *groups; /* of o->groups */
};

struct rank_end {
	int lost;	   /* the rank at fault, -1: none */
	const char *check; /* a failure that is a finding of this id; NULL: it is not */
	bool all_know;	   /* each rank found it by itself: it need not be told */
};
/* 0, also where a lost rank ended it (that was told); -1: this host could not do it, or what
 * ret_end->check names. */
int rank_run(const struct rank_opts *o, struct world_run *w, struct relay *relay, struct arena *a,
	     struct rank_end *ret_end, struct err *e) MUST_CHECK;

/* --- choose.c --- */
/* What carries the data: as asked for or, of "auto", the same on all ranks; NULL with @e. */
const struct comm_plugin *rank_backend(struct rank *r, const struct comm_world *w, struct err *e);

/* --- fit.c --- */
/* "-d all", "-o all" is all that there are here; what has been named and one rank lacks is an
 * error on all. */
int rank_fit_asked(struct rank *r, struct err *e) MUST_CHECK;
/* What a graph has not, and was asked for beside it, and by what; NULL: nothing. */
const char *rank_graph_beside(const struct rank_opts *o);
/* Collective. r->sweep.max is what fits everywhere then. */
int rank_fit_memory(struct rank *r, struct err *e) MUST_CHECK;

/* --- rank_end.c --- */
/* It ended with @e, and the communicator holds @culprit for lost (-1: nobody): who or what is it,
 * as far as the rendezvous knows? That is told. 0: a lost rank; -1: this one, or an interruption.
 */
int rank_explain(struct rank *r, int culprit, struct rank_end *ret, struct err *e) MUST_CHECK;

/* --- groups_rank.c --- */
/* Collective: the groups of r->o->groups are made, and @s runs in all of them; what it tells of
 * rows is told of them, too, and slow ones are tried again. Nothing where there are none. */
int groups_begin(struct rank *r, struct sweep *s, struct err *e) MUST_CHECK;
void groups_end(struct sweep *s);
/* Every group has the root that was asked for, or no collective that needs one. */
int groups_check_root(const struct sweep_opts *o, const struct groups *g, struct err *e) MUST_CHECK;

/* --- pairs.c --- */
/* @ready, on every rank: what was asked for can be done, and nothing was told yet. */
int rank_pairs(struct rank *r, void (*ready)(struct rank *r), struct err *e) MUST_CHECK;

/* --- bench/replay/rank.c --- */
/* Likewise. Does what rank 0's @r->o->replay says. */
int rank_replay(struct rank *r, void (*ready)(struct rank *r), struct err *e) MUST_CHECK;

#endif
