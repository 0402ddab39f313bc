#ifndef BENCH_SWEEP_RESENT_H
#define BENCH_SWEEP_RESENT_H
/*
 * Packets that the ranks of a sweep had to send again, since they were lost: few of a hundred are
 * enough that all ranks wait, a fifth of a second for each that the kernel misses late. A rank
 * sends to some of the others only, so it is a way that is named; --find-slow tells whether it is
 * an end's, or the link's.
 */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct rank;
struct story;

struct resent {
	int from, to;	    /* ranks */
	double sent, again; /* packets; sent 0: none was lost, or nobody counts */
};

/* Collective, at the end of a sweep: rank 0 tells of the way that loses most, if that is more than
 * chance. What was measured stands without it. */
void resent_tell(struct rank *r);
void resent_event(const cJSON *event, int ranks, struct resent *ret);
/* Is it one of the way's ends? */
bool resent_at(const struct story *s, size_t rank);
/* What shows it, on a host. */
extern const char RESENT_LOOK[];
/* The finding, where there is something to be said. */
void verdict_resent(const struct story *s);

#endif
