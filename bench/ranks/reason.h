#ifndef BENCH_RANKS_REASON_H
#define BENCH_RANKS_REASON_H
/*
 * Why a rank leaves, as the others hear it from the rendezvous. Where that is a finding its id
 * stands in front, so that who has the report gives it that name too: of
 *
 *	rank 1 (node1, 10.0.0.2): [nccl.init] ncclCommInitRank failed: ...
 *
 * people are told "rank 1 (node1, 10.0.0.2): ncclCommInitRank failed: ...".
 */
#include "lib/core/arena.h"

/* @check NULL: it is none. */
const char *reason_make(struct arena *a, const char *check, const char *sentence);
/* The id in @news, or NULL; @ret_told: what people are told, also where there is none. */
const char *reason_check(struct arena *a, const char *news, const char **ret_told);
/* Of "rank 1 (b): rank 0 (a) did nothing for 1 s", perhaps of more who told it on: who was seen,
 * not who saw it. What a library said may have such words further on, and is no rank's. NULL is. */
const char *reason_essence(const char *news);
/* What to do about it, as far as these two say: the rank itself has more. NULL: not known. */
const char *reason_fix(const char *check, const char *told);

#endif
