#ifndef BENCH_SWEEP_ROW_EVENT_H
#define BENCH_SWEEP_ROW_EVENT_H
/*
 * A finished row as an event, there and back: rank 0 tells it, and whoever reports has the same
 * row again.
 */
#include "bench/sweep/sweep.h"
#include "lib/core/arena.h"

#include <cjson/cJSON.h>

/* @with_times: of single iterations, too. */
cJSON *row_event_pack(const struct sweep_row *row, bool with_times);
/* A row of @coll between @ranks: all but ret->c, which is the caller's to point at @ret_case. What
 * is not of so many ranks is left out. -1: it is no row. */
int row_event_unpack(const cJSON *event, const struct coll *coll, int ranks, struct arena *a,
		     struct coll_case *ret_case, struct sweep_row *ret) MUST_CHECK;

#endif
