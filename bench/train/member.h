#ifndef BENCH_TRAIN_MEMBER_H
#define BENCH_TRAIN_MEMBER_H
/*
 * A process that is one of the ranks, from its device to its last word: it joins the others,
 * trains with them (job.h), and lets those know who wait for it. launch.h has the process
 * that starts ranks.
 */
#include "bench/ranks/where.h"
#include "bench/train/ask.h"
#include "bench/train/verdict.h"
#include "lib/report/report.h"

struct member_opts {
	struct train_ask *ask;	       /* checked; shared here, among as many as have come */
	const struct where *where;     /* how to meet them */
	const struct where_role *role; /* who started us */
};

/*
 * Ranks that did not come, or were lost, are findings and no error. *ret_first: rank 0, which
 * others wait for that have no launcher: member_end() tells them how it ended; else NULL.
 */
struct member;
int member_run(const struct member_opts *o, struct arena *a, struct report *r,
	       struct member **ret_first, struct err *e) MUST_CHECK;
void member_end(struct member *first, const struct verdict *v);

#endif
