#ifndef BENCH_TRAIN_ENGINE_LOAD_H
#define BENCH_TRAIN_ENGINE_LOAD_H
/* From --device's word and the model to the plug-in that trains it. */
#include "bench/train/net.h"
#include "lib/core/arena.h"

extern const char *const engine_devices[]; /* NULL-terminated, for the option table */
struct engine_choice {
	const char *device; /* "cpu", "cuda" */
	const char *amp;    /* one of engine_precisions */
	bool tf32;
};
struct engine_loaded {
	const struct engine *engine; /* NULL: the built-in loops */
	const char *device;	     /* "cpu", "GPU 0": to tell the others; NULL: "cpu" */
	const char *text;	     /* a line about the GPU and its libraries, else NULL */
	enum engine_precision precision;
};

/* Without a look at this machine: do the options fit each other? */
int engine_check(const struct engine_choice *c, bool is_sharded, struct err *e) MUST_CHECK;
/* ERR_ABSENT: what is not here, and what brings it. */
int engine_load(const struct engine_choice *c, const struct model *m, uint64_t deadline_ns,
		struct arena *a, struct engine_loaded *ret, struct err *e) MUST_CHECK;

#endif
