#ifndef TESTS_FUZZ_IMAGES_H
#define TESTS_FUZZ_IMAGES_H
/* For the fuzzers of the image formats: what was accepted can be read, all of it. */
#include "bench/train/formats.c" /* all of it is pure */

#include <math.h>

static inline void read_all(const struct chunk *c, const struct image_shape *s)
{
	static float out[3 * 28 * 28];

	for (size_t i = 0; i < c->n; i += i < 8 || i + 8 > c->n ? 1 : c->n - i - 7) {
		int channels = i % 2 ? 3 : 1, label = chunk_image(c, s, i, channels, 28, out);

		if (label < 0 || label >= IMAGE_CLASSES)
			abort();
		for (int k = 0; k < channels * 28 * 28; k++)
			if (!(fabsf(out[k]) < 4))
				abort();
	}
}

/* The input has two files: the first two bytes say where the second begins. */
static inline size_t split(const uint8_t *data, size_t n)
{
	size_t first = (size_t)data[0] << 8 | data[1];

	return first < n - 2 ? first : n - 2;
}

#endif
