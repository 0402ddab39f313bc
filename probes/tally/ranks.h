#ifndef PROBES_TALLY_RANKS_H
#define PROBES_TALLY_RANKS_H
/* Ranks in words: "rank 3", "ranks 0-2 and 5", of many spans the first. In any order. */
#include "lib/core/arena.h"

const char *say_ranks(struct arena *a, const int *ranks, size_t n);

#endif
