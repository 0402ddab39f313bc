/* Any bytes as MNIST's pair of files: labels (so many bytes as the first two say), images. */
#include "tests/fuzz/images.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct file_bytes labels = {data + 2, 0, "labels"}, images = {.path = "images"};
	struct image_shape s = {0};
	struct chunk c;
	struct err e;

	if (n < 2)
		return 0;
	labels.n = split(data, n);
	images.p = data + 2 + labels.n;
	images.n = n - 2 - labels.n;
	if (!idx_parse(&images, &labels, &c, &s, &e))
		read_all(&c, &s);
	return 0;
}
