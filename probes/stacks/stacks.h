#ifndef PROBES_STACKS_STACKS_H
#define PROBES_STACKS_STACKS_H
/*
 * Where the ranks of a job that hangs stand, without having been started for
 * it: the Python stacks of all of them, compared. On this host, or on those of
 * the job, each of which is asked for its own.
 */
#include "lib/report/report.h"
#include "probes/log/there.h"
#include "probes/stacks/judge.h"
#include "probes/stacks/meanwhile.h"

/* @below: only what this process started, and itself; 0: all ranks of this host. ERR_ABSENT: there
 * are none. */
int stacks_here(pid_t below, struct report *r, struct err *e) MUST_CHECK;

/* What is wrong with what @below started, in a sentence. It takes two seconds, in which @m goes
 * on. */
struct stacks_brief stacks_brief_of(pid_t below, const struct meanwhile *m, struct arena *a);

int stacks_hosts(const struct there *q, struct report *r, struct err *e) MUST_CHECK;

#endif
