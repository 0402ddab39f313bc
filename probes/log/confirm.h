#ifndef PROBES_LOG_CONFIRM_H
#define PROBES_LOG_CONFIRM_H
/*
 * Looks on this host for what the causes claim, and ranks them again. What is
 * asked of another command of ours is asked of a child process, in JSON.
 */
#include "lib/report/report.h"
#include "probes/log/explain.h"

void confirm(struct explanation *x, uint64_t deadline_ns, struct arena *a);
/* What was seen, after the causes were told. */
void confirm_tell(const struct explanation *x, struct report *r);

#endif
