#ifndef BENCH_TRAIN_SAY_LOST_H
#define BENCH_TRAIN_SAY_LOST_H
/* A rank that was lost, and what to type to see why. */
#include "lib/report/report.h"

struct say_lost {	      /* a rank that was lost */
	int rank;	      /* -1: the sentence has it */
	const char *sentence; /* what everybody was told */
	const char *doing;
	const char *host;	 /* another one, where the rank was; NULL: here */
	const char *address;	 /* of the rank */
	const char *check, *fix; /* where it is about something else than a lost rank; NULL */
	bool connecting;
};
void say_lost(struct report *r, const struct say_lost *l);
/* Of "rank 1 (b) did nothing": 1; else -1. */
int say_rank_in(const char *sentence);
/* What to type to see why: @host as above. */
void say_fix_lost(struct finding *f, const char *sentence, const char *host);

#endif
