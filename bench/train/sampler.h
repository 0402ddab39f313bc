#ifndef BENCH_TRAIN_SAMPLER_H
#define BENCH_TRAIN_SAMPLER_H
/*
 * Which samples a rank sees in an epoch, in which order: PyTorch's
 * DistributedSampler. All samples are shuffled by seed and epoch, the list is
 * filled up from its beginning until the ranks can share it evenly (or, with
 * drop_last, cut), and rank r takes every ranks-th of it from r on.
 */
#include "lib/core/err.h"

struct sampler {
	uint64_t seed;
	size_t samples;
	int ranks;
	bool shuffle, drop_last;
	uint32_t *order; /* of the current epoch */
};

/* The fields above @order are set by the caller. */
int sampler_begin(struct sampler *s, uint64_t epoch, struct err *e) MUST_CHECK;
void sampler_done(struct sampler *s);
size_t sampler_per_rank(const struct sampler *s);
size_t sampler_padding(const struct sampler *s); /* how many come twice */
size_t sampler_dropped(const struct sampler *s);
/* The @i-th sample of @rank, i < sampler_per_rank(). */
size_t sampler_at(const struct sampler *s, int rank, size_t i);

#endif
