#ifndef BENCH_COMM_REDUCE_H
#define BENCH_COMM_REDUCE_H
/*
 * dst[i] = x[i] op y[i], as fast as this processor can: the loops exist once
 * for every machine and, on x86, again for AVX2 and AVX-512; which one runs is
 * found out at the first call. dst may be x or y, but not overlap them otherwise.
 */
#include "bench/comm/types.h"

typedef void reduce_fn(void *dst, const void *x, const void *y, size_t count);

/* OP_AVG and OP_MULSUM are added like OP_SUM; divide once at the end, multiply at the beginning. */
reduce_fn *reduce_find(enum dtype t, enum redop op);
/* The same for one instruction set, for tests; NULL: this processor lacks it. */
enum reduce_set { REDUCE_PLAIN, REDUCE_AVX2, REDUCE_AVX512, REDUCE_SETS };
reduce_fn *reduce_find_in(enum reduce_set set, enum dtype t, enum redop op);
/* dst[i] /= by, truncated for whole numbers. */
void reduce_divide(enum dtype t, void *dst, size_t count, unsigned by);

#endif
