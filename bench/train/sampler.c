#include "bench/train/sampler.h"

#include "bench/train/random.h"

size_t sampler_per_rank(const struct sampler *s)
{
	size_t ranks = (size_t)s->ranks;

	return s->drop_last ? s->samples / ranks : (s->samples + ranks - 1) / ranks;
}

static size_t shared(const struct sampler *s) { return sampler_per_rank(s) * (size_t)s->ranks; }

size_t sampler_padding(const struct sampler *s)
{
	return shared(s) > s->samples ? shared(s) - s->samples : 0;
}

size_t sampler_dropped(const struct sampler *s)
{
	return s->samples > shared(s) ? s->samples - shared(s) : 0;
}

size_t sampler_at(const struct sampler *s, int rank, size_t i)
{
	return s->order[(i * (size_t)s->ranks + (size_t)rank) % s->samples];
}

int sampler_begin(struct sampler *s, uint64_t epoch, struct err *e)
{
	uint64_t state = random_mix(s->seed) + random_mix(~epoch);

	if (!s->order)
		s->order = malloc(s->samples * sizeof(*s->order));
	if (!s->order)
		return err_sys(e, "no memory for a list of %zu samples", s->samples);
	for (size_t i = 0; i < s->samples; i++)
		s->order[i] = (uint32_t)i;
	for (size_t i = s->samples; s->shuffle && i > 1; i--) {
		size_t j = random_next(&state) % i;
		uint32_t swap = s->order[i - 1];

		s->order[i - 1] = s->order[j];
		s->order[j] = swap;
	}
	return 0;
}

void sampler_done(struct sampler *s)
{
	free(s->order);
	s->order = NULL;
}
