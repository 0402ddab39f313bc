#ifndef BENCH_PLUGIN_CUDA_DRIVER_H
#define BENCH_PLUGIN_CUDA_DRIVER_H
/*
 * NVIDIA's driver, as every plug-in for GPUs begins with it: loaded, looked at, started.
 * Calls of it are written in the ordinary way against cuda.h; the symbols are bound at the
 * first call, to what driver_start() made visible, and only those are called that a plug-in
 * has listed here before.
 */
#include "lib/core/err.h"

#include <cuda.h>

struct driver_want {
	const char *const *needs; /* what the plug-in calls, by the names that are exported */
	size_t nneeds;
	const char *found;   /* "NCCL itself is: /usr/lib/libnccl.so.2 (2.28.9)" */
	const char *without; /* "--backend tcp does without"; NULL: whoever asks for it knows */
	const char *least;   /* as library_needs() has it */
};
struct driver {
	int version; /* as cuDriverGetVersion() has it: 13000 */
	int gpus;    /* at least one */
};

/* ERR_ABSENT: no driver, a driver that does not start, no GPU; and what to do. */
int driver_start(const struct driver_want *w, struct driver *ret, struct err *e) MUST_CHECK;
/* Which finding it is where a GPU fails at its work: it is not well (DEV_SICK), or has a screen
 * (DEV_WATCHED). NULL: it is what this program asked of it. */
const char *driver_check(CUresult r);
/* Does a library quote one of those? (Of "unknown error" nobody knows whose it is.) */
bool driver_quoted_sick(const char *text);
/* "out of memory" */
const char *driver_words(CUresult r);
/* -1; where another process keeps the GPU to itself @e becomes an ERR_ABSENT, and says how to
 * share. */
int driver_hint_taken(CUresult r, struct err *e);
/* -1; where @r is a driver's of @version that takes no kernel, the hint says by which CUDA they
 * are. */
int driver_hint_kernels(int version, CUresult r, struct err *e);

#endif
