#ifndef BENCH_TRAIN_LOADER_H
#define BENCH_TRAIN_LOADER_H
/*
 * Batches in order, read by worker threads some batches ahead; without workers
 * each is read when it is asked for. What is read does not depend on how many
 * there are.
 */
#include "bench/train/data.h"

struct loader;
struct loader_opts {
	const struct data *data;
	int channels, side;
	size_t batch;
	unsigned workers;
};
struct loader_job { /* the batches of one epoch */
	enum data_part part;
	size_t samples;
	size_t (*at)(const void *arg, size_t i); /* which sample is the i-th; any thread */
	const void *arg;
};
struct loaded {
	size_t n;
	const float *pixels; /* sample by sample; until the next call */
	const int *labels;
};

struct loader *loader_new(const struct loader_opts *o, struct err *e) MUST_CHECK;
/* Whatever is left of the job before is dropped. */
void loader_start(struct loader *l, const struct loader_job *job);
struct loaded loader_next(struct loader *l); /* n 0: that was all */
void loader_free(struct loader *l);	     /* may be NULL */

#endif
