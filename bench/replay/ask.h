#ifndef BENCH_REPLAY_ASK_H
#define BENCH_REPLAY_ASK_H
/* --replay on the command line. */
#include "bench/sweep/asked.h"

/* What would not be heeded beside it is refused; what @usual has nobody typed. */
int ask_replay(struct asked *q, const struct asked *usual, struct arena *a,
	       struct err *e) MUST_CHECK;
/* Where this process is the one that has to know it, reads the recording; the ranks that it starts
 * get it with their environment. Where nothing says how many ranks there are, as many as recorded
 * start here: *ret_bare. */
int ask_replay_read(struct asked *q, const struct where *w, struct where_role *role,
		    struct arena *a, struct err *e) MUST_CHECK;

#endif
