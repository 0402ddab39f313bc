#ifndef LIB_CLUSTER_CHILD_GUARD_H
#define LIB_CLUSTER_CHILD_GUARD_H
/*
 * Process groups that end when this process does, however it does, and whether they are stopped or
 * not. Private to child.c.
 */
#include "lib/core/base.h"

#include <sys/types.h>

/* Where the group's number is to be written; NULL: this machine can start no guard, or there are
 * too many. */
volatile pid_t *child_guard_take(void);
/* It has ended, or was never begun; NULL is no place. */
void child_guard_leave(volatile pid_t *place);

#endif
