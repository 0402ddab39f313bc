/* Any bytes as one of CIFAR-10's files, repeated to a whole record. */
#include "tests/fuzz/images.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct image_shape s = {3, CIFAR_SIDE, false};
	size_t more = n ? (size_t)(data[0] & 3) * 3073 : 0;
	AUTO_FREE uint8_t *file = malloc(n + more + 1);
	struct file_bytes f = {file, more, "file"};
	struct chunk c;
	struct err e;

	if (!file)
		return 0;
	for (size_t i = 0; i < n + more; i++) /* the length counts: libFuzzer's inputs are short */
		file[i] = data[i % n];
	f.n += data && n && (data[0] & 4) ? n : 0;
	if (!cifar_parse(&f, &c, &e))
		read_all(&c, &s);
	return 0;
}
