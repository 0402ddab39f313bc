#ifndef PROBES_PREFLIGHT_ALLOCATION_H
#define PROBES_PREFLIGHT_ALLOCATION_H
/*
 * The job of a scheduler that we run inside of: which hosts it has, and how
 * they are reached from here without ssh keys.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

struct allocation {
	const char *scheduler; /* NULL: none, or one host only */
	const char *hosts;     /* what --hosts would be given */
	const char *rsh;       /* what --rsh would be given; NULL: ssh */
	bool not_first;	       /* one of several tasks, and not the one that does it for all */
};
void allocation_find(struct arena *a, struct allocation *ret);
/* `windsock --srun HOST COMMAND`, what --rsh runs: becomes srun. Returns only with @e filled. */
int allocation_srun(char *const *words, int n, struct err *e);

#endif
