#ifndef BENCH_REPLAY_TRAFFIC_H
#define BENCH_REPLAY_TRAFFIC_H
/*
 * What a recorded training did on the network: its groups of ranks, which collectives they
 * called, of which size and type and how often, and in which order. Made of a recording
 * (source.h), carried to the ranks as a text, done again by them (replay.h). Groups that lie alike
 * (the tensor groups of a grid) are a family; what is alike in all of a family is one kind. All in
 * an arena.
 */
#include "bench/coll/coll.h"
#include "lib/core/arena.h"

enum {
	TRAFFIC_KINDS = 256,  /* that are done again, at most */
	TRAFFIC_MOVES = 4096, /* ... and in their order */
	TRAFFIC_TEXT = 96 << 10,
	TRAFFIC_COUNT_BITS = 38 /* elements; no memory has room for more */
};

struct traffic_group {
	const int *ranks; /* of the world, in the group's own order */
	uint32_t n, family;
};

struct traffic_family {
	const char *name;   /* as the program called it; "" where it did not */
	uint32_t n, sample; /* ranks of each; one of its groups */
};

struct traffic_kind {
	const char *as; /* "all_reduce", "send", "barrier" */
	const struct coll *coll;
	enum dtype type;
	uint32_t family;
	bool uneven;	       /* parts differed: as many bytes in parts of our own */
	size_t count;	       /* as struct comm_request has it */
	LIST(uint32_t) groups; /* that did it */
	double times;	       /* by each of them, in what is done again: the mean */
	/* microseconds in the recording, medians: of the rank that came last, and the mean of
	 * all, which holds waiting; NAN: it has no times */
	double then_us, waited_us;
};

struct traffic_move { /* one collective of each of these groups, which share no rank */
	uint32_t kind, n;
	const uint32_t *groups;
};

struct traffic_left { /* what cannot be done again, and why */
	const char *what;
	uint64_t n;
};

struct traffic {
	struct arena *a;
	const char *source; /* "PyTorch's Flight Recorder" */
	int ranks;	    /* of the whole training */
	size_t files;	    /* that were read */
	LIST(struct traffic_group) groups;
	LIST(struct traffic_family) families;
	LIST(struct traffic_kind) kinds; /* what moves most comes first */
	LIST(struct traffic_move) moves; /* none: the order is not known */
	uint64_t steps; /* so often the recording has what is done again; 0: no step was found */
	double step_s;	/* from one to the next, in the recording; NAN: not known */
	LIST(struct traffic_left) left;
	LIST(int) missing; /* ranks without a recording */
	bool is_mixed;	   /* files of other jobs lay beside it, and were left out */
	str_list notes;
	const char *judge; /* the command that says of the same files who came late; NULL: none */
};

/* The number of that group, which is added where it is new. */
uint32_t traffic_group(struct traffic *t, const char *name, const int *ranks, uint32_t n);
/* The same of a kind; times and groups are the caller's. */
uint32_t traffic_kind(struct traffic *t, const struct traffic_kind *k);
void traffic_joins(struct traffic *t, uint32_t kind, uint32_t group);
void traffic_leave_out(struct traffic *t, const char *what, uint64_t n);
/* Sorts the kinds, drops what never comes and what is beyond TRAFFIC_KINDS. */
void traffic_close(struct traffic *t);

/* Bytes as tables count a size: of all parts. */
double traffic_bytes(const struct traffic *t, const struct traffic_kind *k);
struct coll_case traffic_case(const struct traffic *t, const struct traffic_kind *k);
/* "tp (ranks 0 and 1, and 3 groups more)", "all 8 ranks" */
const char *traffic_where(const struct traffic *t, const struct traffic_kind *k, struct arena *a);
bool traffic_has(const struct traffic_group *g, int rank);
/* Turns in which those of @groups that share no rank go together: of each its number, from 0.
 * Returns how many there are. */
uint32_t traffic_turns(const struct traffic *t, const uint32_t *groups, size_t n, uint32_t *ret);

/* What ranks need to know, as a text; NULL: it is more than TRAFFIC_TEXT without the order, too.
 * Where the order alone is too much, it goes without (and @t has no moves any more). */
const char *traffic_pack(struct traffic *t);
/* 0, or -1 where it is no such text. */
int traffic_unpack(const char *text, size_t n, struct arena *a, struct traffic *ret);

#endif
