#ifndef BENCH_TRAIN_RANDOM_H
#define BENCH_TRAIN_RANDOM_H
/* Numbers that are a function of what they are asked for, alike on every machine. */
#include "lib/core/base.h"

/* splitmix64: call it with one's own counter, or chain it. */
static inline uint64_t random_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}
static inline uint64_t random_next(uint64_t *state) { return random_mix((*state)++); }
static inline float random_unit(uint64_t bits)
{
	return (float)(bits >> 40) * 0x1p-24f;
} /* [0,1) */

/* Four sums side by side, as fast as memory. Of bits, not of values: -0 is not 0. */
static inline uint64_t hash_bytes(const void *bytes, size_t n)
{
	uint64_t h[4] = {1, 2, 3, 4}, w[4], rest = n;
	const unsigned char *p = bytes;
	size_t i = 0;

	for (; i + sizeof(w) <= n; i += sizeof(w)) {
		memcpy(w, p + i, sizeof(w));
		for (int k = 0; k < 4; k++)
			h[k] = (h[k] ^ w[k]) * UINT64_C(0x100000001b3);
	}
	for (; i < n; i++)
		rest = random_mix(rest ^ p[i]);
	return random_mix(h[0] ^ random_mix(h[1] ^ random_mix(h[2] ^ random_mix(h[3] ^ rest))));
}

static inline uint64_t hash_words(const void *p, size_t nwords)
{
	return hash_bytes(p, nwords * sizeof(uint32_t));
}

#endif
