#include "bench/train/digits.h"

#include "bench/train/random.h"

enum { GLYPH_W = 5, GLYPH_H = 7, SCALE = 3, SHIFT = 3 };

static const char *const glyphs[10] = {
	" ### #   ##  ### # ###  ##   # ### ", "  #   ##    #    #    #    #   ### ",
	" ### #   #    #   #   #   #   #####", " ### #   #    #  ##     ##   # ### ",
	"   #   ##  # # #  # #####   #    # ", "######    ####     #    ##   # ### ",
	" ### #    #    #### #   ##   # ### ", "#####    #   #   #   #    #    #   ",
	" ### #   ##   # ### #   ##   # ### ", " ### #   ##   # ####    #    # ### ",
};

/* Four bytes at a time: near enough to a normal distribution, and fast. */
static void add_noise(uint64_t state, float *pixels)
{
	for (int i = 0; i < DIGITS_SIDE * DIGITS_SIDE; i += 2) {
		uint64_t r = random_next(&state);

		for (int k = 0; k < 2; k++, r >>= 32) {
			int sum = (int)(r & 255) + (int)(r >> 8 & 255) + (int)(r >> 16 & 255) +
				  (int)(r >> 24 & 255);

			pixels[i + k] += (float)(sum - 510) * (0.4f / 147.8f);
		}
	}
}

int digit_make(uint64_t seed, uint64_t index, float *ret_pixels)
{
	uint64_t state = random_mix(random_mix(seed) ^ index * UINT64_C(0x9e3779b97f4a7c15));
	int label = (int)(random_next(&state) % 10);
	int left = 6 - SHIFT / 2 + (int)(random_next(&state) % SHIFT);
	int top = 3 - SHIFT / 2 + (int)(random_next(&state) % SHIFT);
	float ink = 1.5f + random_unit(random_next(&state));

	for (int i = 0; i < DIGITS_SIDE * DIGITS_SIDE; i++)
		ret_pixels[i] = -0.4f;
	for (int y = 0; y < GLYPH_H * SCALE; y++)
		for (int x = 0; x < GLYPH_W * SCALE; x++)
			if (glyphs[label][y / SCALE * GLYPH_W + x / SCALE] == '#')
				ret_pixels[(top + y) * DIGITS_SIDE + left + x] += ink;
	add_noise(random_next(&state), ret_pixels);
	return label;
}
