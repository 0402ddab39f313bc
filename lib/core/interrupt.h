#ifndef LIB_CORE_INTERRUPT_H
#define LIB_CORE_INTERRUPT_H
/*
 * Ctrl-C and SIGTERM as a state that loops look at, so that what was finished
 * is still reported and what was made is removed. A second signal ends the
 * process the hard way.
 */
#include "lib/core/base.h"

void interrupt_install(void);
int interrupt_pending(void); /* the signal's number, or 0 */
int interrupt_fd(void);      /* becomes readable then, for an event loop */

#endif
