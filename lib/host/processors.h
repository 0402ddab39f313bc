#ifndef LIB_HOST_PROCESSORS_H
#define LIB_HOST_PROCESSORS_H
/* How many processors this process may use; at least one. The machine may have more. */
#include "lib/core/base.h"

/* What to divide work by: its mask, or fewer where its control groups give the time of fewer. */
unsigned processors_usable(void);
/* The control group by which they are fewer than its mask has (lib/host/cgroup.h); 0: none. */
uint64_t processors_budget(void);
unsigned processors_allowed(void);    /* by its mask alone (taskset, srun, cpuset) */
int processors_allowed_nth(unsigned); /* its number; the first is 0; -1: there is none */

/*
 * This thread, and those that it starts, run where @list ("0-23,48-71") says, of the processors
 * that it had when this was first called; on all of those where the list names none of them.
 */
void processors_stay(const char *list);

#endif
