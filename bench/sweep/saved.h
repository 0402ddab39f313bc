#ifndef BENCH_SWEEP_SAVED_H
#define BENCH_SWEEP_SAVED_H
/*
 * Somebody's saved run: nccl-tests' table (or ours, which is the same), its -J
 * JSON, or our --json. Bounded; what is not one of them, or was cut off before
 * its first row, is refused with a sentence.
 */
#include "bench/sweep/export.h"

struct saved {
	const char *coll, *gpu, *backend, *device;
	int tables, ranks, hosts; /* ranks and hosts of the last table; 0: not said */
	struct plot_run run;
	double wrong;	/* elements, of all rows */
	double average; /* as printed; NAN: it is missing, the run did not end */
};

/* "-": stdin. */
int saved_read(const char *path, struct arena *a, struct saved *ret, struct err *e) MUST_CHECK;
int saved_parse(const char *path, char *text, size_t n, struct arena *a, struct saved *ret,
		struct err *e) MUST_CHECK;
/* Is it normal, and why: findings. @nic_gbps, @instance: what the file cannot know. */
void saved_judge(const struct saved *s, double nic_gbps, const char *instance, struct report *r);

#endif
