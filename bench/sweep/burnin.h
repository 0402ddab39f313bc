#ifndef BENCH_SWEEP_BURNIN_H
#define BENCH_SWEEP_BURNIN_H
/*
 * --for TIME, where it is reported: rows become courses as they come (course.h), and at the end one
 * row of each. What there is to say meanwhile is said on stderr: a bar on a terminal, else a line
 * now and then. Nothing here grows with the time.
 */
#include "bench/sweep/course.h"
#include "lib/core/text.h"

#include <cjson/cJSON.h>

struct story;

enum { BURNIN_BINS = 20 }; /* parts of the time, for what is kept by rank */

struct burnin {
	LIST(struct course *) courses; /* in the order of a cycle */
	size_t at;		       /* the one that the latest row was of */
	uint64_t per_cycle;	       /* rows */
	uint64_t rows, begun_ns, spoke_ns, lost_ns;
	uint64_t wrong_row; /* the first with wrong data, from 1 on; 0: none */
	double wrong_s, latest_s;
	/* by part of the time and rank, of large sizes: seconds that were waited for it; and of
	 * each part the time of it all */
	double *waited[BURNIN_BINS], took[BURNIN_BINS];
	struct stalls stalls;
};

/* The ranks are there: what it will be is the first note. */
void burnin_begin(struct story *s);
void burnin_row(struct story *s, const cJSON *event);
void burnin_next(struct story *s, const char *what);
/* No more rows come: the table has one of each size, and the story has them as its rows. Of another
 * run nothing. */
void burnin_end(struct story *s);
uint64_t burnin_cycles(const struct burnin *b); /* whole ones */

/* --- burnin_say.c --- */
/* "12 min after the start (at 14:02:11)"; since it began. */
const char *burnin_when(const struct story *s, double at_s);
/* What is said of a lost rank, with the time; of another run as it is. */
const char *burnin_lost(const struct story *s, const char *message);
/* "the first in cycle 7, 12 min ..."; NULL: none, or it is no burn-in. */
const char *burnin_wrong(const struct story *s);
/* Did bandwidth sink? Also how each size went, for people and in data.course. */
void burnin_verdict(const struct story *s);
/* The mean shares that ranks were waited for, by their time, between those parts; the time. */
double burnin_waited(const struct story *s, size_t from, size_t to, double *shares);

#endif
