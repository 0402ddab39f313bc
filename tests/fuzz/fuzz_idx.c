/* Any bytes as MNIST's pair of files: labels (so many bytes as the first two say), images. */
#include "tests/fuzz/images.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct image_shape s = {0};
	struct chunk c;
	struct err e;
	size_t first;

	if (n < 2)
		return 0;
	first = split(data, n);
	if (!idx_parse(data + 2 + first, n - 2 - first, data + 2, first, "file", &c, &s, &e))
		read_all(&c, &s);
	return 0;
}
