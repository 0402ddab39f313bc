#ifndef BENCH_TRAIN_FORMATS_H
#define BENCH_TRAIN_FORMATS_H
/*
 * Data sets as they are distributed, from bytes to labelled square images: the
 * IDX files of MNIST, CIFAR-10's and STL-10's binary files. Pure: nothing is
 * copied, every size and every label is checked before anything is used.
 */
#include "lib/core/err.h"

struct chunk { /* images and labels of one file, or of a pair of them */
	const uint8_t *images, *labels;
	size_t n, image_step, label_step; /* bytes from one to the next */
	uint8_t label_base;
};
struct image_shape {
	int channels, side;
	bool by_column; /* within a channel */
};

struct file_bytes {
	const uint8_t *p;
	size_t n;
	const char *path; /* for messages */
};
int idx_parse(const struct file_bytes *images, const struct file_bytes *labels, struct chunk *ret,
	      struct image_shape *ret_shape, struct err *e) MUST_CHECK; /* MNIST's pair */
int cifar_parse(const struct file_bytes *f, struct chunk *ret, struct err *e) MUST_CHECK;
int stl_parse(const struct file_bytes *images, const struct file_bytes *labels, struct chunk *ret,
	      struct err *e) MUST_CHECK;

/* "PATH: it is still packed by gzip", and what unpacks it: @as, or NULL: PATH itself, which lacks
 * the ending. -1. */
int file_packed(const char *path, const char *as, struct err *e);

enum { IMAGE_SIDE_MAX = 1024, CIFAR_SIDE = 32, STL_SIDE = 96, IMAGE_CLASSES = 10 };

/* Image @i as @channels x @side x @side floats, resized, its mean about 0; returns the label. */
int chunk_image(const struct chunk *c, const struct image_shape *s, size_t i, int channels,
		int side, float *ret);

#endif
