#ifndef BENCH_SWEEP_TELL_H
#define BENCH_SWEEP_TELL_H
/*
 * What a rank says of a sweep, an event each; story.c takes them up. Rank 0 tells what was agreed
 * and measured, any rank whom it lost or what it failed of. (Of pairs pairs*.c tell.)
 */
#include "bench/sweep/rank.h"

/* Once, before anything is measured: who the ranks are, and what is wrong with the way they go. On
 * other ranks than 0 nothing. */
void tell_begin(struct rank *r);
/* Collective, at the end of what nothing was split for: ways that data has taken since. */
void tell_ways(struct rank *r);
/* What is measured now, after so many; @of: of how many, NAN: not known. */
void tell_next(struct rank *r, const char *what, double done, double of);
void tell_row(struct rank *r, const struct sweep_row *row);
/* -G: rank @who cannot. */
void tell_without_graph(struct rank *r, int who, const char *why);
/* --within: what was measured less often, and whether larger sizes were left out. */
void tell_fitted(struct rank *r, const struct sweep *s);
/* The error is this rank's own. @check: it is a finding of this id; NULL: it is not. */
void tell_broke(struct rank *r, const char *check, const struct err *e);
/* It is another rank's, of which this one has heard. */
void tell_heard(struct rank *r, const char *check, const struct err *e);
void tell_lost(struct rank *r, int culprit, const char *message);

#endif
