#ifndef LIB_CLUSTER_TROUBLE_H
#define LIB_CLUSTER_TROUBLE_H
/* Why a host gave no answer, as one sentence with what to do; NULL when it gave one. */
#include "lib/cluster/fanout.h"
#include "lib/cluster/rsh.h"

/* @rsh: what was run here, @program: what was to run there. */
const char *fanout_trouble(const struct fanout_result *r, const struct rsh_way *rsh,
			   const char *program, uint64_t deadline_ns, struct arena *a);

#endif
