#ifndef TESTS_DIFF_LEADER_LAYOUT_H
#define TESTS_DIFF_LEADER_LAYOUT_H
/*
 * nccl_layout's random host, and on top what decides between interfaces:
 * default routes, MTUs, kinds, high indexes, crowds, and cables whose other
 * end is in the namespace of @elsewhere. @ret_there: `ip -batch` lines for
 * that one.
 */
#include "tests/diff/nccl_layout.h"

#include <sys/types.h>

void leader_layout(struct layout *l, struct text *ret_there, uint64_t seed, uint64_t number,
		   pid_t elsewhere, struct arena *a);

#endif
