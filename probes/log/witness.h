#ifndef PROBES_LOG_WITNESS_H
#define PROBES_LOG_WITNESS_H
/*
 * Was a signal sent to us alone, or to our whole process group, job or container?
 * The kernel does not say, so a process beside us, which does nothing else, says
 * whether it was sent it as well. It ends with us, and holds none of our files.
 */
#include "lib/core/base.h"

#include <signal.h>

/* From now on it looks for the signals of @set, which are blocked. Without it (no process could
 * be made) nothing was ever seen. */
void witness_start(const sigset_t *set);
/* May be asked in a handler, with @set blocked: waits a moment for its word. Each is told once. */
bool witness_saw(int sig);
void witness_end(void);

#endif
