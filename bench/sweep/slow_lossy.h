#ifndef BENCH_SWEEP_SLOW_LOSSY_H
#define BENCH_SWEEP_SLOW_LOSSY_H
/* A part of slow.c: nodes and links that lose, added to @ret. @suspects: also where that may be
 * chance, and where others lose as much. */
#include "bench/sweep/slow.h"

/* Are @again packets of @sent more than chance makes of LOSSY_SHARE? */
bool lossy_is_sure(double sent, double again);
void slow_lossy(const struct slow_input *in, bool suspects, struct arena *a, slow_list *ret);

#endif
