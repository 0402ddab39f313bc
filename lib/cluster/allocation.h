#ifndef LIB_CLUSTER_ALLOCATION_H
#define LIB_CLUSTER_ALLOCATION_H
/*
 * The job of a scheduler (Slurm, PBS, LSF, Grid Engine) that we run inside of: which hosts it has,
 * and how that scheduler reaches them from here, as environment variables say it. Jobs of one host
 * are none: it is this one.
 */
#include "lib/core/arena.h"

struct allocation {
	const char *scheduler; /* NULL: none */
	const char *hosts;     /* what --hosts would be given ... */
	const char *typed;     /* ... and what a person types for it: "$PBS_NODEFILE" */
	size_t n;	       /* how many */
	const char *rsh;       /* what --rsh would be given; NULL: ssh */
	bool srun;	       /* srun reaches them */
	bool not_first;	       /* one of several tasks, and not the one that does it for all */
};
void allocation_find(struct arena *a, struct allocation *ret);
/* Where another way to hosts is named, by --rsh (@given) or WINDSOCK_RSH, it is not the
 * scheduler's. */
void allocation_go_by(struct allocation *job, const char *given);
/* Our children shall look at this host alone. */
void allocation_forget(void);

#endif
