#ifndef BENCH_REPLAY_RUN_H
#define BENCH_REPLAY_RUN_H
/* Between rank.c, kinds.c and passes.c: one rank's part in doing again what was recorded. */
#include "bench/replay/replay.h"
#include "bench/sweep/rank.h"

struct word { /* what a rank tells the others of its part in a turn */
	double group, rough_s, seconds, wrong, left_s;
};

struct replay {
	struct rank *r;
	struct traffic t;
	struct sweep s;
	struct sweep_opts o;
	struct comm **comms;	   /* by group; NULL: this rank is in another */
	LIST(struct comm *) parts; /* to be freed */
	struct word own, *all;	   /* all: by rank */
	double *now_s, *scale;	   /* by kind; now_s NAN: it was not done */
	bool is_cut;		   /* some were done smaller than recorded */
	uint64_t kinds_end_ns, end_ns;
};

/* Each kind by itself, verified; all of its groups at a time, those that share a rank in turns. */
int run_kinds(struct replay *p, struct err *e) MUST_CHECK;
/* What came of all groups of one turn, by their ranks' @p->all. */
void run_add_up(const struct replay *p, double scale, struct replay_kind *k);
/* All of it in its order, as often as there is time for; if there is. */
int run_in_order(struct replay *p, struct err *e) MUST_CHECK;
/* Everybody gets to know everybody's @p->own, and how long there is by rank 0's clock. */
int run_share(struct replay *p, uint64_t end_ns, struct err *e) MUST_CHECK;
/* Told by rank 0; frees it. */
void run_tell(struct replay *p, cJSON *event);

#endif
