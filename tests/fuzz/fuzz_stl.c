/* Any bytes as STL-10's pair of files: the labels as they are, the images repeated. */
#include "tests/fuzz/images.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct image_shape s = {3, STL_SIDE, true};
	size_t labels = n > 2 ? split(data, n) % 5 : 0;
	size_t images = n > 2 ? (size_t)(data[1] & 7) * 27648 + (data[0] & 1) : 0;
	AUTO_FREE uint8_t *file = malloc(images + 1);
	struct chunk c;
	struct err e;

	if (!file)
		return 0;
	for (size_t i = 0; i < images; i++)
		file[i] = data[i % n];
	if (!stl_parse(&(struct file_bytes){file, images, "images"},
		       &(struct file_bytes){n > 2 ? data + 2 : data, labels, "labels"}, &c, &e))
		read_all(&c, &s);
	return 0;
}
