#ifndef PROBES_LOG_CACHEKEYS_H
#define PROBES_LOG_CACHEKEYS_H
/*
 * LMCache: the hash that each process begins its keys with, and whether what was stored was ever
 * found again.
 */
#include "probes/log/line.h"

struct why;
struct why_stream;

struct cachekeys {
	char hash[160]; /* the first one; "": none was said */
	bool is_unlike; /* another process has another one */
	unsigned hits, misses;
};

void cachekeys_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* Processes have different keys, and of several requests not one was found. */
bool cachekeys_never_fit(const struct cachekeys *k);

#endif
