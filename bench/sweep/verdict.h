#ifndef BENCH_SWEEP_VERDICT_H
#define BENCH_SWEEP_VERDICT_H
/*
 * What a benchmark says about the cluster: findings and, for who reads the
 * table, its last lines.
 */
#include "bench/sweep/against.h"
#include "bench/sweep/baseline.h"
#include "bench/sweep/story.h"

/* The check of a rank that died, fell silent or did not come. */
#define VERDICT_ALIVE "rank.alive"

struct verdict_opts {
	double expect_gbps;	 /* bus bandwidth to be reached; 0: what the hardware should do */
	double expect_share;	 /* or a share of that; 0: the usual limits */
	struct share warn, fail; /* of expectation and baseline */
	const struct baseline *baseline;
	const char *save_baseline, *nccl_json, *plot; /* files to write, or NULL */
	bool plot_here;				      /* a small one as text */
	const char *const *plot_with;		      /* other runs' files; NULL-terminated */
	const char *const *argv;		      /* behind the program's name */
	bool pairs;				      /* show their matrix */
	bool together; /* asked for: say it where it came to nothing */
};

/* Ends the table and says everything. -1: we could not do our job. */
int story_verdict(struct story *s, const struct verdict_opts *o, struct err *e) MUST_CHECK;
/* A rank that died or fell silent; -1: which, the message says, or it is the rendezvous.
 * @fix: where the message has none of its own; NULL. */
void verdict_lost(struct report *r, const struct story *s, int rank, const char *message,
		  const char *fix);
/* "   # on HOST" of rank @p or, of NULL, of who the message is about; "": nobody knows. */
const char *verdict_on_host(struct report *r, const struct bench_rank *p, const char *message);
/* What all ranks, or a vendor's library, failed of, where that says something about the cluster. */
void verdict_failure(struct report *r, const struct story *s, const char *check,
		     const struct err *e);
/* The rank that the others wait for, where the communicator can tell. */
void verdict_straggler(const struct story *s);
/* How fast it was, against what was to be expected. */
void verdict_bandwidth(const struct story *s, const struct verdict_opts *o);
/* Against what nccl-tests' variable asks for, if it does. */
void verdict_average(const struct story *s);
/* GPUs whose NVLink could join the hosts, and does not. */
void verdict_domain(const struct story *s);
/* --groups: each one's, in a list, and who of them is slow. */
void verdict_groups(const struct story *s, const struct verdict_opts *o);
void verdict_pairs(const struct story *s, const struct verdict_opts *o);
/* Writes what @o names, of a table that has rows. */
int verdict_files(const struct story *s, const struct verdict_opts *o, struct err *e) MUST_CHECK;
/* Adds a finding and its "# PASS check: message" line. */
void verdict_add(struct report *r, struct finding *f);

#endif
