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

/* @check NULL: it is none. @fix, or NULL, is what that rank would do: it comes along behind the
 * sentence of a finding where there is room for all of it. */
const char *reason_make(struct arena *a, const char *check, const char *sentence, const char *fix);
/* The id in @news, or NULL; @ret_told: what people are told, also where there is none. */
const char *reason_check(struct arena *a, const char *news, const char **ret_told);
/* The fix that came along with a finding, as it is typed from anywhere; NULL: none did, or whoever
 * hears of such a finding knows what to do (reason_fix()). */
const char *reason_carried(struct arena *a, const char *news);
/* Of "rank 1 (b): rank 0 (a) did nothing for 1 s", perhaps of more who told it on: who was seen,
 * not who saw it. What a library said may have such words further on, and is no rank's. NULL is. */
const char *reason_essence(const char *news);
/* What to do about it, as far as these two say: the rank itself has more. NULL: not known. */
const char *reason_fix(const char *check, const char *told);

#endif
