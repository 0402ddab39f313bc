#ifndef BENCH_TRAIN_VERDICT_H
#define BENCH_TRAIN_VERDICT_H
/*
 * Rank 0 judges the run, and a launcher takes its exit code for the run's. Ranks that
 * somebody started one by one have none: each is told, so that none of them ends with
 * 0 where the run failed. (Under a launcher they must not: it would end rank 0, which
 * has the report, because of the first that does.)
 */
#include "lib/cluster/launch.h"
#include "lib/report/report.h"

struct verdict {       /* travels as it is */
	uint32_t code; /* rank 0's exit code, with --strict and whatever it could not write ... */
	uint32_t failed, warned; /* ... of so many checks ... */
	char said[200];		 /* ... or why; "": it did not say */
};

/*
 * Of rank 0, first when it begins to judge and then as often as it likes: the others go on waiting
 * in verdict_share(). They want a sign in 60 deadlines, and it is given once in each.
 */
void verdict_is_coming(struct world_run *w, uint64_t deadline_ns);
/*
 * Collective, at the very end, where no rank was lost; does nothing under a launcher. Rank 0 has
 * yet to tell, the others have heard. One that is lost only now is a finding as well, and @ret_lost
 * what was said of it; else that is NULL.
 */
int verdict_share(struct world_run *w, struct report *r, const char **ret_lost,
		  struct err *e) MUST_CHECK;
/* Rank 0's, with all written. Who has gone meanwhile does not hear it. */
void verdict_tell(struct world_run *w, const struct verdict *v);
/*
 * world_start() failed with @e because others did not come: a word on the cluster, and no error
 * any more. @silent: nobody reads this rank's report.
 */
int verdict_missing(struct report *r, bool silent, struct err *e); /* 0 */
/* Likewise where this rank's GPU failed before it met the others. */
int verdict_sick(struct report *r, int rank, struct err *e); /* 0 */

#endif
