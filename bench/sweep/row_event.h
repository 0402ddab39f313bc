#ifndef BENCH_SWEEP_ROW_EVENT_H
#define BENCH_SWEEP_ROW_EVENT_H
/*
 * A finished row as an event, there and back: rank 0 tells it, and whoever reports has the same
 * row again.
 */
#include "bench/sweep/sweep.h"
#include "lib/core/arena.h"

#include <cjson/cJSON.h>

/* What single iterations took, too: all of it, or of one rank's so many. */
enum row_event_times { ROW_NO_TIMES = 0, ROW_SOME_TIMES = 64, ROW_ALL_TIMES = INT32_MAX };
cJSON *row_event_pack(const struct sweep_row *row, enum row_event_times times);
/* A row of @coll between @ranks, or in groups of them: all but ret->c, which is the caller's to
 * point at @ret_case. What is not of so many ranks is left out. -1: it is no row. */
int row_event_unpack(const cJSON *event, const struct coll *coll, int ranks, struct arena *a,
		     struct coll_case *ret_case, struct sweep_row *ret) MUST_CHECK;

#endif
