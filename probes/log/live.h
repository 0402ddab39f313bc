#ifndef PROBES_LOG_LIVE_H
#define PROBES_LOG_LIVE_H
/*
 * Asks a running job how it is: NCCL 2.24 and later answer on port 28028 (RAS)
 * of each host that runs ranks, in lines of text, since 2.28 in JSON too.
 * Asked twice, a second apart, it tells a job that moves from one that stands.
 */
#include "lib/report/report.h"

/* @where: "HOST", "HOST:PORT" or "[V6]:PORT". */
int live_ask(const char *where, uint64_t deadline_ns, struct report *r, struct err *e) MUST_CHECK;

/* What the answers of @where mean; @second may be NULL. For tests and the fuzzer. */
void live_judge(const char *first, size_t n, const char *second, size_t m, const char *where,
		struct report *r);

#endif
