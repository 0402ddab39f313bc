#ifndef LIB_CLUSTER_PAIRS_H
#define LIB_CLUSTER_PAIRS_H
/*
 * Who meets whom: a tournament in which everybody meets everybody once and
 * nobody is in two pairs of a round, so that what is measured in one pair is
 * not another pair's traffic.
 */
#include <stddef.h>

size_t pair_rounds(size_t n);
/* @me's partner in @round of @n; @n when it has none (n is odd). */
size_t pair_partner(size_t n, size_t round, size_t me);

#endif
