#ifndef LIB_CORE_HEIR_H
#define LIB_CORE_HEIR_H
/*
 * A process beside us that sleeps until we have ended, however we end and although it may be
 * stopped then, and does what is left to do. It is of a session of its own, so that what is sent
 * to our group is not for it, and keeps no file of ours open.
 */
#include "lib/core/base.h"

#include <sys/types.h>

/* @then is called with all signals blocked; @keep is its stdin, -1: it finds nothing there. -1:
 * there can be no such process here. */
pid_t heir_start(void (*then)(void *arg), void *arg, int keep);
/* Is that process the heir of one that has ended, and at work? */
bool heir_has_inherited(pid_t pid);
/* Nothing is left to do. No-op where there is none. */
void heir_end(pid_t heir);

#endif
