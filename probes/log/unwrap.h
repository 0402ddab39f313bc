#ifndef PROBES_LOG_UNWRAP_H
#define PROBES_LOG_UNWRAP_H
/*
 * A line that a collector or a notebook wrapped as JSON, made a line of text
 * again: {"log":"...\n","time":"..."} of container runtimes, {"MESSAGE":...} of
 * journald, "...\n", of notebooks. Bounded, and forgiving: a line that was cut
 * off in the middle gives what is there.
 */
#include "lib/core/base.h"

struct log_who;

/* False where it is no such line. Else @out (always terminated) is the time, if one was named, and
 * the message; of several lines the last, which says what went wrong, comes first. */
bool unwrap_json(const char *raw, size_t n, char *out, size_t size, struct log_who *who);

#endif
