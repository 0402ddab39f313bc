#ifndef PROBES_LOG_STAMP_H
#define PROBES_LOG_STAMP_H
/* The time at the beginning of a line, in the forms that logs of training have. */
#include "probes/log/line.h"

/*
 * "[2025-10-15 13:20:53]", "2025-10-15T13:20:53.123Z", "10/15/2025 13:20:53",
 * "[Wed Oct 15 13:20:53 2025]" are dates; "Oct 15 13:20:53", "E1015 13:20:53.12
 * 77 file.cpp:6]" and "INFO 10-15 13:20:53" lack the year (a day); "[ 123.456]"
 * is the kernel's uptime. Returns what comes after it, or NULL.
 */
const char *stamp_parse(const char *p, enum clock_kind *ret_kind, int64_t *ret_ms);

/* Of seconds since 1970: as of a date whose zone was said. */
int64_t stamp_of_epoch(int64_t seconds);

#endif
