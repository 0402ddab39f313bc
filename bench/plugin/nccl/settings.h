#ifndef BENCH_PLUGIN_NCCL_SETTINGS_H
#define BENCH_PLUGIN_NCCL_SETTINGS_H
/*
 * NCCL_* variables that have to be alike (lib/host/nccl_alike.h), compared before NCCL is asked
 * for anything: it would hang, or fail in ways that name no variable.
 */
#include "bench/plugin/cards.h"
#include "lib/core/arena.h"

/* Of all of them here: for card.settings. */
uint64_t settings_digest(void);
/*
 * Collective, once cards are exchanged; where all digests are the same nothing is sent. -1: the
 * exchange failed, or ranks differ in what no job works with (the one that is odd is named).
 * *ret_doubts: "NCCL_NET, NCCL_IB_DISABLE" (and how many more), which differ too and need not
 * do harm; in @a; NULL: none do.
 */
int settings_compare(const struct cards *c, const struct comm_world *w, struct arena *a,
		     const char **ret_doubts, struct err *e) MUST_CHECK;

#endif
