#ifndef PROBES_FLIGHT_JUDGE_H
#define PROBES_FLIGHT_JUDGE_H
/*
 * What the dumps of a job say together: who never came, who called something
 * else, who waits for whom. Causes have ids of their own (FR-001 ...), which
 * are never renamed; the best is the first.
 */
#include "lib/flight/flight.h"

struct flight_cause {
	const char *id;
	int weight;	     /* percent */
	bool is_programs;    /* what the program calls is wrong: nothing else explains it */
	const char *meaning; /* one sentence */
	str_list causes, confirm, fix;
	int *ranks; /* whose fault it is, or who has to be looked at */
	size_t nranks;
};

struct flight_verdict {
	LIST(struct flight_cause) causes;
	str_list notes;	     /* what is worth knowing besides */
	size_t dumps;	     /* that were judged */
	const char *healthy; /* a sentence where nothing hangs; else NULL */
	bool is_empty;	     /* no rank entered anything, as far as they tell */
};

void flight_judge(struct flight *f, struct arena *a, struct flight_verdict *ret);

#endif
