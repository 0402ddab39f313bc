#ifndef LIB_HOST_CGROUP_H
#define LIB_HOST_CGROUP_H
/* Which control group this process is in, and what memory it and those around it leave. */
#include "lib/core/arena.h"

/* Its path below the controller's folder; NULL: there is none. *ret_v2: of the one hierarchy. */
const char *cgroup_own(struct arena *a, const char *controller, bool *ret_v2);
/*
 * What may still be taken before the tightest of them kills, its files' cache counted as
 * free; UINT64_MAX: there is no limit.
 */
uint64_t cgroup_memory_left(struct arena *a);

#endif
