#ifndef BENCH_REPLAY_REPLAY_H
#define BENCH_REPLAY_REPLAY_H
/*
 * --replay, from the command line to what is said. What is recorded is read by the process that
 * reports (by rank 0 where somebody else started all ranks), and does not have to be on the hosts.
 *
 *	ask_replay()		bench/replay/ask.h: before ranks are looked for
 *	rank_replay()		bench/sweep/rank.h: on each rank
 *	replay_event()		what rank 0 tells of it
 *	replay_verdict()	at the end
 */
#include "bench/replay/traffic.h"
#include "lib/report/report.h"

/* In the environment of ranks that this process starts: what they do, as traffic_pack() has it. */
#define REPLAY_ENV "WINDSOCK_REPLAY"

struct replay_kind { /* what became of the one of the same number in struct traffic */
	bool done;
	double us, least_us; /* of the slowest of its groups, and of the fastest */
	double wrong;	     /* elements */
	double scale;	     /* done so much smaller, for want of memory or time; us is of all */
	uint32_t slowest;    /* which group */
	uint32_t fastest;
	const char *why; /* it was not done; NULL: its time was over */
};

struct replay_story {
	struct replay_kind *kinds;
	double in_order_s, passes; /* all in its order, the median; passes 0: it was not done so */
};

/* What a step takes, seconds, on the rank that has most of it. */
struct replay_sum {
	int rank;
	double calls, bytes, now_s;
	/* of the kinds that the recording has times of: now, then by who came last, and by the
	 * mean of all ranks, waiting included */
	double timed_s, then_s, waited_s;
	double longest_s; /* of then_s, those of one group, which come one after the other */
	double cut;	  /* calls of kinds that were not done */
	bool is_reckoned; /* some were done smaller */
};

struct story;
void replay_event(const cJSON *event, struct story *s);
/* The table, the findings and data.replay. */
void replay_verdict(const struct story *s);

/* --- between say.c, sum.c, judge.c and judge_groups.c ------------------------------------ */
void replay_add_up(const struct traffic *t, const struct replay_kind *kinds, struct arena *a,
		   struct replay_sum *ret);
/* Seconds of @kind in what is done again, by each of its groups; 0: it was not done. */
double replay_kind_s(const struct traffic *t, const struct replay_kind *kinds, size_t kind);
void replay_judge(const struct story *s, const struct replay_sum *sum);
void replay_judge_groups(const struct story *s, const struct replay_sum *sum);
const char *replay_what(const struct traffic *t); /* "a step", "the recording" */

#endif
