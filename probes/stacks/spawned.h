#ifndef PROBES_STACKS_SPAWNED_H
#define PROBES_STACKS_SPAWNED_H
/* Of ranks.c: ranks that no launcher's variables name. */
#include "probes/stacks/process.h"
#include "probes/stacks/ranks.h"

/* Children of a process that torch.multiprocessing spawned and that use torch, each with its
 * siblings; of @below, where it is not 0, whatever they use. Where nobody is a rank there, it is
 * its first Python alone. */
void ranks_spawned(const struct processes *all, pid_t below, struct arena *a,
		   struct rank_processes *ret);

#endif
