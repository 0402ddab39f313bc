#ifndef BENCH_SWEEP_SAVED_RANKS_H
#define BENCH_SWEEP_SAVED_RANKS_H
/*
 * The ranks that a saved run lists, and what they come to. Where they were split into groups
 * (NCCL_TESTS_SPLIT) its figures are of one group, while all of them ran.
 */
#include "bench/sweep/saved.h"

typedef struct {
	str_list hosts, groups, cells; /* by rank; cells: of one group, on one host */
} saved_ranks;

void saved_ranks_add(saved_ranks *r, struct arena *a, const char *host, long group);
/* Sets what @s says of them; nothing where there are none. */
void saved_ranks_count(const saved_ranks *r, struct arena *a, struct saved *s);

#endif
