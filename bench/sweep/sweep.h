#ifndef BENCH_SWEEP_SWEEP_H
#define BENCH_SWEEP_SWEEP_H
/*
 * Measures one collective over sizes, types, reductions and roots, the same way
 * on every rank: whatever decides how it goes on (times, wrong values) is agreed
 * on by all. Every size is verified after it was timed, never while.
 */
#include "bench/coll/coll.h"
#include "bench/sweep/groups.h"

enum { SWEEP_SLACK = 4096 }; /* of each of two buffers, for -u and rounding to parts */
enum sweep_average { AVERAGE_RANK0, AVERAGE_MEAN, AVERAGE_MIN, AVERAGE_MAX };
enum sweep_blocking { BLOCK_NOT, BLOCK_BARRIER, BLOCK_WAIT, BLOCK_APART /* barrier, not timed */ };

struct sweep_opts {
	const struct coll *coll;
	uint64_t min, max, step; /* bytes; step: added, if factor is 0 */
	uint64_t factor;
	uint64_t iters, warmup, aggregate, cycles; /* cycles 0: until told to stop */
	enum sweep_average average;
	enum sweep_blocking blocking;
	uint64_t check, skip, unalign;
	/* Iterations are one CUDA graph, launched so often: times are of launches, each the mean of
	 * its operations. 0: they are started one by one. */
	uint64_t graph;
	bool cpu_time;
	unsigned types, ops; /* bit sets */
	int root;	     /* -1: every one */
	/*
	 * Not a list of sizes: some small ones for the latency, then large ones until
	 * @factor times the size gains less than 3 %, max is reached or the time is up.
	 */
	bool adaptive;
	/* Of a list it leaves out iterations of what takes long, and then sizes. 0: none, of a
	 * list alone. */
	uint64_t within_ns;
	/* Go through all of it again and again, until so much time is over or data were wrong; 0:
	 * as often as cycles says. The row that runs then is the last one. */
	uint64_t for_ns;
	bool keep_each; /* every rank's time of every iteration, for rank 0 */
};

struct measurement {
	double seconds, algbw, busbw; /* of the clock on the wall, whatever is shown */
	double shown; /* as the column of times has it: of -C what processors were busy */
	double min, max, p50, p99, mean, deviation; /* of single iterations, seconds */
	int64_t wrong;				    /* elements on all ranks; -1: not checked */
	const double *times; /* of single iterations, in order; until the next row */
	size_t ntimes;
	const double *each; /* the same of each rank, one after another; NULL: not kept */
	double wire;	    /* GB/s that the busiest rank sent; NAN: nobody counts */
	double took;	    /* seconds, all timed iterations: as many as this size had */
	double robbed; /* share of the time that the rank who lacked it most wanted a processor */
	/* of many rows as one (course.h): how many, and the lowest, median and highest busbw of
	 * one; rows 0: this is one row */
	uint64_t rows;
	double least, median, most;
	/* by rank, until the next row: its own time, seconds; and the share of the time that
	 * others wait for it, their mean (NULL: nobody counts) */
	const double *rank_s, *waited;
};
struct sweep_row {
	const struct coll_case *c;
	int all; /* ranks, of lists by rank; 0: as many as the case has (with groups it has fewer)
		  */
	struct measurement out, in; /* out of place, in place */
	double robbed; /* of a burn-in: as theirs, since the row before it, untimed work too */
};
/* Its bus bandwidth: of the better of the two. */
double sweep_row_busbw(const struct sweep_row *r);

/* What rows add up to. */
struct sweep_totals {
	uint64_t rows, bad; /* bad: measurements with wrong elements */
	uint64_t carried;   /* rows whose messages were not empty, */
	uint64_t checked;   /* and their measurements whose elements were looked at */
	double busbw_sum, best_busbw;
	double best_latency; /* of small messages; 0: none was measured */
	uint64_t best_bytes;
};
void sweep_totals_add(struct sweep_totals *t, const struct sweep_row *r);

struct sweep {
	/* set by the caller */
	const struct sweep_opts *o;
	struct comm *comm; /* of all ranks, which agree on how it goes on */
	struct dev *dev;
	/* They do it all at once, each by itself; NULL: all ranks are one. Times are the mean of
	 * them all, and bandwidths those of a group like the lead. */
	const struct groups *groups;
	struct comm *part;    /* of our group; NULL: this rank looks on */
	uint64_t deadline_ns; /* with groups: nobody waits nearly so long for another one */
	/* when all rows are there, and the buffers still; on every rank; NULL */
	int (*last)(struct sweep *s, struct err *e);
	void (*row)(struct sweep *s, const struct sweep_row *r);  /* as each is finished; NULL */
	void (*next)(struct sweep *s, const struct coll_case *c); /* what comes now; NULL */
	/* there are no graphs, since this rank cannot; NULL */
	void (*without)(struct sweep *s, int rank, const char *why);
	bool (*stop)(struct sweep *s); /* asked on every rank between sizes; NULL */
	void *arg;

	/* what came of it */
	uint64_t rows;
	bool timed_out;	    /* larger sizes had no room within the time */
	uint64_t fewer;	    /* the first size that was measured less often for it; 0: none was */
	bool all_know;	    /* it failed, and every rank found so by itself */
	uint64_t own_wrong; /* elements, on this rank */

	/* private */
	struct coll_buffers buffers;
	void *allocated[2];
	double *times[2], *sorted; /* out of place, in place */
	double *each[2];
	double *by_rank[2];  /* likewise: times, then shares */
	uint64_t *waited_ns; /* before the timed iterations */
	size_t ntimes;
	uint64_t captured; /* iterations in the graph; 0: there is none */
	bool no_graph;
	uint64_t seed, started_ns;
	double row_at_s, row_robbed_s; /* of a burn-in: when the latest row ended */
	size_t paced;		       /* the largest size that was tried; see measure.c */
	uint64_t bytes;		       /* as asked for: groups of two sizes make two of it */
	uint64_t lists;		       /* that have begun */
};

/* 0 also when it was told to stop; -1: the communicator failed, or this host did. */
int sweep_run(struct sweep *s, struct err *e) MUST_CHECK;
/* How many sizes they are, unless it is adaptive; at once, however many. */
uint64_t sweep_sizes(const struct sweep_opts *o);
/* How many rows it will be; 0 unknown. */
uint64_t sweep_count(const struct sweep_opts *o, int ranks);
/* Bytes that one rank allocates for sizes up to @max. */
uint64_t sweep_memory(uint64_t max);
/* The next size after @bytes; 0: that was the last one. */
uint64_t sweep_next_size(const struct sweep_opts *o, uint64_t bytes);
/* All ranks get the same @n values, combined with @op. */
int sweep_agree(struct comm *c, double *values, size_t n, enum redop op, struct err *e) MUST_CHECK;
/* Whom an agreed number names; -1: nobody, also where another rank made it up. */
int sweep_whom(const struct comm *c, double rank);
/* Who measures without sweep_run(): buffers for sizes up to o->max, the same on all ranks; and
 * back, also after a failure. */
int sweep_take_room(struct sweep *s, struct err *e) MUST_CHECK;
void sweep_give_room(struct sweep *s);

/* --- measure.c --- */
int measure(struct sweep *s, struct coll_case *c, uint64_t iters, struct measurement *ret,
	    struct err *e) MUST_CHECK;
/* Seconds of one operation, roughly, as all ranks agree. */
int measure_roughly(struct sweep *s, struct coll_case *c, uint64_t bytes, double *ret,
		    struct err *e) MUST_CHECK;
/* What is measured next; its buffers begin so many elements late. */
void measure_aim(struct sweep *s, struct coll_case *c, uint64_t bytes, uint64_t late);

/* --- among.c: what groups change --- */
/* Those of one collective; NULL: this rank is in none. */
static inline struct comm *among(const struct sweep *s) { return s->groups ? s->part : s->comm; }
/* A case of ours; of who looks on the lead's. */
struct coll_case among_case(const struct sweep *s);
/* Roots that there are in every group. */
int among_roots(const struct sweep *s);
/* @c as tables show it, the same on all ranks: the lead's. */
struct coll_case among_shown(const struct sweep *s, const struct coll_case *c);
/* The size of @c, the same on all ranks. */
uint64_t among_bytes(const struct sweep *s, const struct coll_case *c);
/* Runs it to its end, where this rank is in a group. */
int among_run(struct sweep *s, const struct comm_request *q, struct err *e) MUST_CHECK;
/* Likewise, and all groups meet, so that nobody waits for a slower one as if it were dead. */
int among_meet(struct sweep *s, const struct comm_request *q, struct err *e) MUST_CHECK;
/* Before times are counted: so often. *ret: timed iterations after which all meet. */
int among_warm(struct sweep *s, const struct comm_request *q, uint64_t times, uint64_t *ret,
	       struct err *e) MUST_CHECK;
/* What of this rank's @n numbers counts for o->average. */
void among_weigh(const struct sweep *s, double *v, size_t n);

#endif
