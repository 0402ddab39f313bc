#ifndef BENCH_REPLAY_PERIOD_H
#define BENCH_REPLAY_PERIOD_H
/* What repeats in a row of symbols, such as the steps of a training. Pure. */
#include "lib/core/base.h"

enum { PERIOD_LOOKS_AT = 16384 /* the last ones */ };

/* The length of what repeats, twice at least, but for little that is in between (a checkpoint, a
 * validation); 0: nothing does. */
size_t period_find(const uint32_t *s, size_t n);
/* Where the last stretch of @period that is as the one before it begins. */
size_t period_last(const uint32_t *s, size_t n, size_t period);

#endif
