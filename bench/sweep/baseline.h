#ifndef BENCH_SWEEP_BASELINE_H
#define BENCH_SWEEP_BASELINE_H
/* What a cluster did when it was healthy, in a file, and whether it still does. */
#include "bench/sweep/story.h"

/* Bytes: of smaller sizes, times are mostly luck, and they are not compared. What is called 1 MiB
 * may have less, in whole elements for each rank. */
enum { BASELINE_LARGE = 1000 * 1000 };
extern const double BASELINE_WARN, BASELINE_FAIL; /* shares of it, unless told */

struct baseline; /* in an arena */

/* A wrong or truncated file is an ERR_USAGE: nothing need be measured to say so. */
const struct baseline *baseline_read(const char *path, struct arena *a, struct err *e) MUST_CHECK;
int baseline_save(const struct story *s, const char *path, struct err *e) MUST_CHECK;
/* Shares of the baseline's bus bandwidth, below which it is a warning or a failure. */
void baseline_judge(const struct story *s, const struct baseline *b, double warn, double fail);

#endif
