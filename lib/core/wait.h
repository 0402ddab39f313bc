#ifndef LIB_CORE_WAIT_H
#define LIB_CORE_WAIT_H
/* Waits until that child has ended, whatever signals come meanwhile. */
#include "lib/core/base.h"

#include <sys/types.h>

/* Its status, as waitpid() has it; 0 where it is no child of ours (any more). */
int wait_child(pid_t pid);

#endif
