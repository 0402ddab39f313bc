#ifndef BENCH_SWEEP_SAVED_H
#define BENCH_SWEEP_SAVED_H
/*
 * Somebody's saved runs: nccl-tests' tables (of all its versions, and ours, which are
 * the same), its -J JSON, or our --json; and what others' tests of a network wrote (foreign.h),
 * or of GPUs and of nodes (peers.h).
 * Bounded; what is not one of them, or was cut off before its first row, is refused with a
 * sentence.
 */
#include "bench/sweep/export.h"

struct foreign;
struct peers;

struct saved {		  /* one table */
	const char *file; /* in which it is, as a person named it */
	const char *coll; /* NULL: it does not say */
	const char *gpu, *backend;
	int worlds;		      /* ranks 0: of more than one none knew of the others */
	int ranks, hosts;	      /* of all of them; 0: not said */
	bool uneven;		      /* some hosts have more ranks than others */
	int groups;		      /* that they were split into; 0: not said */
	int group_ranks, group_hosts; /* of each; 0: they differ */
	bool reduces;		      /* to all ranks: it has a reduction and no root */
	struct plot_run run;
	double factor;	     /* bus over algorithm bandwidth, where it was best; NAN: not known */
	double wrong;	     /* elements of all rows, or results where only those were counted */
	double off;	     /* the greatest error of an old table, INFINITY: no number came out */
	bool verified;	     /* something was, -c 0 */
	double average;	     /* as printed; NAN: it is missing, the run did not end */
	const char *failure; /* what nccl-tests says that it failed of; NULL */
	const struct foreign *foreign; /* another tool's: foreign.h; NULL */
	const struct peers *peers;     /* one that compares many: peers.h; NULL */
};
typedef LIST(struct saved) saved_list;

/* One or more, each with a point. A pipe, too; "-": stdin. */
int saved_read(const char *path, struct arena *a, saved_list *ret, struct err *e) MUST_CHECK;
/* The same of a stream, @fd, of which @head was read already. */
int saved_read_on(int fd, const char *path, const char *head, size_t head_n, struct arena *a,
		  saved_list *ret, struct err *e) MUST_CHECK;
int saved_parse(const char *path, char *text, size_t n, struct arena *a, saved_list *ret,
		struct err *e) MUST_CHECK;
/* What the file cannot know, and what is asked for. */
struct saved_opts {
	double nic_gbps; /* of one host's cards together; NAN: not known */
	const char *instance;
	double expect_gbps, expect_share; /* 0: what the hardware should do */
};
/* Are they normal, and why: findings. */
void saved_judge(const saved_list *l, const struct saved_opts *o, struct report *r);

/* --- for bench/sweep/saved*.c --- */
struct saved *saved_begin(saved_list *l, struct arena *a);
/* "all_reduce_perf_mpi ..." is of all_reduce. */
const char *saved_coll(struct arena *a, const char *program);
/* One of our findings, "rank.alive" that failed: is it of what ended the run? */
bool saved_is_end(const char *check);
/* What our run says that ended it: of an interruption only that it has no end. */
void saved_ended(struct saved *s, struct arena *a, const char *why);
/* Of two at one size, which follow each other, the faster. */
void saved_point(struct saved *s, struct arena *a, double bytes, double busbw, double us,
		 double algbw);
/* Adds the tables of @text, also those without a row; writes into it. */
void saved_tables(char *text, struct arena *a, saved_list *ret);

#endif
