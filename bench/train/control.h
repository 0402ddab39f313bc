#ifndef BENCH_TRAIN_CONTROL_H
#define BENCH_TRAIN_CONTROL_H
/*
 * What a GPU computes against what the processor does: the same samples and parameters, one
 * gradient, layer by layer. All other proofs compare GPUs with GPUs, and what a library or a
 * kernel gets wrong it gets wrong in each of them; a loss that falls shows none of it.
 */
#include "bench/train/train.h"

/* Rank 0, afterwards; does nothing where there is no GPU. -1: it could not be computed. */
int train_control(const struct train_opts *o, const struct train_result *r,
		  struct train_control *ret, struct err *e) MUST_CHECK;
/* Samples/s of one rank on a GPU, with nobody to exchange anything with. alone_pace.c */
int train_pace(const struct train_opts *o, const struct train_result *r, double *ret,
	       struct err *e) MUST_CHECK;

#endif
