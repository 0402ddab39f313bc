#ifndef BENCH_TRAIN_DATA_H
#define BENCH_TRAIN_DATA_H
/*
 * Labelled images to train on: made here (the default; no files), or read from
 * files in the formats in which MNIST, CIFAR-10 and STL-10 are distributed. Files
 * are mapped, so ranks of one host share them. Reading samples is safe from
 * several threads.
 */
#include "bench/train/formats.h"

enum { DATA_FILES_MAX = 8, DATA_CHUNKS_MAX = 5 };
enum data_part { DATA_TRAIN, DATA_VALIDATION, DATA_PARTS };

struct data_file {
	const char *name; /* without its folder */
	void *map;
	size_t n;
	uint64_t hash;
};
struct data {
	const char *name; /* "synthetic", "mnist" ... */
	bool is_made;
	uint64_t seed; /* of what is made */
	struct image_shape shape;
	struct chunk chunks[DATA_PARTS][DATA_CHUNKS_MAX];
	int nchunks[DATA_PARTS];
	size_t n[DATA_PARTS];
	struct data_file files[DATA_FILES_MAX];
	int nfiles;
};

/* "synthetic", "mnist:DIR", "cifar10:DIR", "stl10:DIR". Looks at the words only. */
int data_check(const char *spec, struct err *e) MUST_CHECK;
/* @samples, @validation: how many of them (made: 2048 and 512); 0: all, or those. */
int data_open(struct data *d, const char *spec, uint64_t seed, size_t samples, size_t validation,
	      struct err *e) MUST_CHECK;
void data_close(struct data *d);
/* One sample as @channels x @side x @side floats; returns its label. */
int data_get(const struct data *d, enum data_part part, size_t i, int channels, int side,
	     float *ret);

#endif
