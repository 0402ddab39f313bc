#ifndef BENCH_DEV_GPUS_H
#define BENCH_DEV_GPUS_H
/*
 * Are there GPUs that CUDA would use here? The driver alone is asked (libcuda.so.1,
 * which knows CUDA_VISIBLE_DEVICES), and where it shows none the PCI tree, so that a
 * card which nobody can use does not go unmentioned.
 */
#include "lib/cluster/rdzv_rank.h"
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

/* --- all ranks take the GPU, or none --- */
struct gpu_word { /* what a rank found; travels as it is */
	char note[360], fix[300];
	uint8_t on_gpu, is_wrong;
};
/* @own.n: this rank has one that it can use. */
struct gpu_word gpu_word(const struct gpus *own);
/*
 * Of the words of all ranks, and the same on all: true when each has one. Else @ret says who keeps
 * the others from theirs, or has one that is not used (note NULL: nobody has any).
 */
bool gpus_agree(struct gpu_word *all, size_t stride, const struct rdzv_member *m, int size,
		struct arena *a, struct gpus *ret);

#endif
