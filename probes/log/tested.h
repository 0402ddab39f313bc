#ifndef PROBES_LOG_TESTED_H
#define PROBES_LOG_TESTED_H
/*
 * What runners of tests say: pytest, unittest, ctest, googletest, go, TAP. A test that went well
 * may be called like an error, and quote one.
 */
#include "probes/log/line.h"

struct why;
struct why_stream;

/* That one test went well, or failed as it should; or how somebody looks for a failure. */
bool tested_well(const struct log_line *l);
/* A test begins, or its verdict is told, whatever that is: a line of its own. */
bool tested_frames(const char *text);
/* Of all of them: 0 well, 1 some failed, -1: it is no such line. */
int tested_sum(const struct log_line *l);
/* A test began, or its verdict: what one that went well said in between is forgotten. */
void tested_hear(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
