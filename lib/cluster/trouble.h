#ifndef LIB_CLUSTER_TROUBLE_H
#define LIB_CLUSTER_TROUBLE_H
/* Why a host gave no answer, as one sentence with what to do; NULL when it gave one. */
#include "lib/cluster/fanout.h"

/* What was run here. */
struct rsh_way {
	const char *name;  /* its first word */
	const char *typed; /* what a person types for it before the host's name */
};

/* @program: what was to run there. */
const char *fanout_trouble(const struct fanout_result *r, const struct rsh_way *rsh,
			   const char *program, uint64_t deadline_ns, struct arena *a);
/* The same for a finding: @rsh (of --rsh), else what somebody above us was given, else
 * WINDSOCK_RSH, else ssh. */
#define RSH_TYPED "WINDSOCK_RSH_TYPED"
const char *rsh_typed(const char *rsh);

#endif
