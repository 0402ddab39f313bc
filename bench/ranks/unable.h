#ifndef BENCH_RANKS_UNABLE_H
#define BENCH_RANKS_UNABLE_H
/*
 * A run that never began because a rank could not do its work there, and said so by its exit
 * code, 3: that is an error of ours, and says nothing about the cluster.
 */
#include "lib/cluster/launch.h"

/* True with @e filled; a host that could not be reached, or start its ranks, is none of these. */
bool ranks_unable(const struct launch_result *l, struct err *e);

#endif
