#ifndef BENCH_TRAIN_ENGINE_LOAD_H
#define BENCH_TRAIN_ENGINE_LOAD_H
/*
 * From --device's word and the model to the plug-in that trains it. "auto" takes the
 * GPU where there is one, and says why where one that is there is not taken: the
 * engine's libraries are missing. A GPU that is sick is no reason to take another one.
 */
#include "bench/train/net.h"
#include "lib/cluster/launch.h"

extern const char *const engine_devices[]; /* NULL-terminated, for the option table */
struct engine_choice {
	const char *device; /* "auto", "cpu", "cuda" */
	const char *amp;    /* one of engine_precisions */
	bool tf32;
	const char *needs; /* what is for GPUs alone ("--amp"), set by engine_check(); or NULL */
	bool is_implied;   /* that alone asks for one, and no --device */
	int rank;	   /* of --init, where the environment has none; -1 */
};
struct engine_loaded {
	const struct engine_choice *choice;
	const struct engine *engine; /* NULL: the built-in loops */
	const char *device;	     /* "cpu", "GPU 0": to tell the others; NULL: "cpu" */
	const char *text;	     /* a line about the GPU and its libraries, else NULL */
	const char *note, *fix;	     /* why a GPU is not used, where one is; NULL */
	bool is_wrong;		     /* it was meant to be */
	int local_rank;		     /* by which it took its GPU */
	enum engine_precision precision;
	struct err lacks; /* why it could not be loaded; kind ERR_NONE: it was */
};

/*
 * Without a look at this machine: do the options fit each other? With what only a GPU can
 * do (@for_gpu: another option that asks for one; NULL) "auto" becomes "cuda".
 */
int engine_check(struct engine_choice *c, const char *for_gpu, bool is_sharded,
		 struct err *e) MUST_CHECK;
/* ERR_ABSENT: what is not here, and what brings it. */
int engine_load(const struct engine_choice *c, const struct model *m, uint64_t deadline_ns,
		struct arena *a, struct engine_loaded *ret, struct err *e) MUST_CHECK;
/* It is a GPU, and that is what failed: the finding that it is. NULL: it is not. */
const char *engine_failed_check(const struct engine_loaded *l);
/* The processor's, for a model that is a graph. ERR_ABSENT: it is not here. */
const struct engine *engine_cpu(struct arena *a, struct err *e);
/*
 * Collective, once all have loaded theirs, or could not: that ends it. Where "auto" did not find
 * the same on all ranks, all take the CPU. -1 with *ret_culprit: a rank was told of another device.
 */
int engine_agree(struct engine_loaded *l, const struct model *m, struct world_run *w,
		 struct arena *a, int *ret_culprit, struct err *e) MUST_CHECK;
/* Equal where the same input gives the same bits; 0: of the built-in loops. */
uint64_t engine_maker(const struct engine_loaded *l);

#endif
