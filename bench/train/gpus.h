#ifndef BENCH_TRAIN_GPUS_H
#define BENCH_TRAIN_GPUS_H
/*
 * Are there GPUs that CUDA would use here? The driver alone is asked (libcuda.so.1,
 * which knows CUDA_VISIBLE_DEVICES), and where it shows none the PCI tree, so that a
 * card which nobody can use does not go unmentioned.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

struct gpus {
	int n;		  /* 0: none */
	const char *note; /* about cards that cannot be used, else NULL; and what to do */
	const char *fix;
	bool is_wrong; /* somebody should do that: they were meant to be used */
};

/* In this process, which is going to use them. A driver that is sick is an ERR_ABSENT. */
int gpus_look(struct arena *a, struct gpus *ret, struct err *e) MUST_CHECK;
/* In a child: it stays out of this process, and one that never answers is left behind. */
int gpus_look_aside(uint64_t deadline_ns, struct arena *a, struct gpus *ret,
		    struct err *e) MUST_CHECK;

#endif
