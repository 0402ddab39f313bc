#ifndef PROBES_LOG_OUTCOME_H
#define PROBES_LOG_OUTCOME_H
/* How a command that was run ended, which its words may not say: a signal leaves none. */
#include "probes/log/why.h"

/* @code: as a shell has it, not 0. What ended it is a line of its own among those that are judged.
 */
void outcome_note(struct why *w, int code);
/* It ended as who was told to, or whom nobody reads any more. */
bool outcome_is_wanted(int code);

#endif
