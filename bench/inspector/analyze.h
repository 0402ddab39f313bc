#ifndef BENCH_INSPECTOR_ANALYZE_H
#define BENCH_INSPECTOR_ANALYZE_H
/*
 * ncclbench --analyze: measures nothing and judges what others left, a benchmark's output
 * (bench/sweep/saved.h) or what NCCL's Inspector recorded, whichever it is by its contents.
 */
#include "bench/sweep/asked.h"
#include "lib/report/report.h"

int analyze(const struct asked *q, struct arena *a, struct report *r, struct err *e) MUST_CHECK;

#endif
