#ifndef BENCH_DEV_PATTERN_H
#define BENCH_DEV_PATTERN_H
/*
 * What buffers are filled with, so that the right answer of every collective is
 * known to the last bit without asking another implementation. A value depends
 * on rank, position, seed and type. Floating-point values are whole numbers so
 * small that sums and averages over all ranks are exact in their type, in any
 * order. Where ranks are too many for that (bfloat16: averages of more than 16), each
 * element's value comes from one of them, and the others have zero. Averages over more ranks
 * than the type has whole numbers (16 of the one 8-bit float, 8 of e5m2) are one value divided, and
 * rounded once. (Those of whole number types are zero there, whatever is averaged.)
 *
 * Positions repeat after a prime number of elements: filling and comparing cost
 * what memory costs, and no displacement by blocks, pages or parts stays hidden.
 */
#include "bench/comm/types.h"

enum { PATTERN_PERIOD = 8191 };
#define PATTERN_MOVES OP_COUNT /* nothing is reduced */

struct pattern {
	enum dtype type;
	enum redop op; /* the values are made for it, or PATTERN_MOVES */
	int ranks;
	int rank; /* whose values; -1: the result over all ranks */
	uint64_t seed;
};

/* The first @n <= PATTERN_PERIOD values. */
void pattern_values(const struct pattern *p, size_t n, void *ret);

#endif
