#ifndef BENCH_TRAIN_DIGITS_H
#define BENCH_TRAIN_DIGITS_H
/*
 * A data set that is not stored anywhere: sample @index is a function of the
 * seed, so every rank makes its own part and all of them see the same. The ten
 * digits, moved, of varying contrast, under noise.
 */
#include "lib/core/base.h"

enum { DIGITS_SIDE = 28 };
#define DIGITS_VALIDATION (UINT64_C(1) << 48) /* samples from here on are for validation */

/* Fills 28 x 28 pixels, mean about 0; returns the label. */
int digit_make(uint64_t seed, uint64_t index, float *ret_pixels);

#endif
