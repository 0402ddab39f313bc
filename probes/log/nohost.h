#ifndef PROBES_LOG_NOHOST_H
#define PROBES_LOG_NOHOST_H
/*
 * Words with a number that stand before a colon and are not the name of a host:
 * source files, exceptions, devices, parts of a model, ranks.
 */
#include "lib/core/base.h"

bool nohost_is(const char *word, size_t n);
/* "rank3", "Rank-3", "rank_3" */
bool nohost_rank(const char *word, size_t n, long *ret_rank);

#endif
