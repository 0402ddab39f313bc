#ifndef LIB_HOST_CGROUP_H
#define LIB_HOST_CGROUP_H
/*
 * What control groups leave to this process: of its own and of those around it, each time the
 * tightest, in v2's one hierarchy or in v1's one for each controller.
 */
#include "lib/core/base.h"

/* UINT64_MAX: there is no limit. */
struct cgroup_room {
	uint64_t most;
	uint64_t left; /* may still be taken; which group says so need not be the one of most */
};

struct cgroup_room cgroup_memory(void); /* bytes; files' cache counts as left: it gives way */
uint64_t cgroup_memory_kills(void);	/* processes of our own group, for want of memory */
struct cgroup_room cgroup_tasks(void);	/* processes and threads */
double cgroup_processors(void);		/* the time of so many; HUGE_VAL: there is no limit */
/* Which group says so: a number that no other group of this machine has; 0: none does. */
uint64_t cgroup_processors_group(void);

#endif
