#ifndef LIB_CORE_STATS_H
#define LIB_CORE_STATS_H
/* Samples, in order. None of them is a NAN. */
#include "lib/core/base.h"

void sort_doubles(double *v, size_t n);
void sort_floats(float *v, size_t n);
void sort_ints(int *v, size_t n);
/* Of those in order the one nearest to the share @q of the way from the least to the most: 0.5 is
 * the middle one, of two the upper. NAN where there are none. */
double sorted_quantile(const double *v, size_t n, double q);
/* Of any order; sorts them. The middle one, of two the upper, as nccl-tests has it; NAN of none. */
double median(double *v, size_t n);

#endif
