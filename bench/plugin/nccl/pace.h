#ifndef BENCH_PLUGIN_NCCL_PACE_H
#define BENCH_PLUGIN_NCCL_PACE_H
/*
 * How far the GPU is with what it was given. A fabric that stands still while all ranks
 * live is known by one thing only: nothing is finished any more. So every piece of work of
 * some size has an event behind it, and what may take how long is known from what such
 * things took before, with a deadline on top.
 */
#include "bench/comm/comm.h"

#include <cuda.h>

enum { PACE_STEPS = 64, PACE_LEAST = 1 << 20 /* bytes: smaller ones share an event */ };

struct pace_step {
	double *speed; /* of its kind: bytes per ns, as last seen; 0: never */
	uint64_t bytes;
};
struct pace {
	CUstream stream;
	CUevent events[PACE_STEPS]; /* made when they are first needed */
	struct pace_step steps[PACE_STEPS];
	unsigned first, n; /* under way: a ring */
	uint64_t loose;	   /* bytes behind the last event */
	uint64_t moved_ns; /* when the first of them began, at the latest */
	bool is_new;	   /* something of a kind that connects when it is first used */
};

/* @bytes were put on the stream. False: there is no room; pace_look() until there is. */
bool pace_add(struct pace *p, uint64_t bytes, double *speed, CUresult *ret_failed);
/* Takes note of what is finished. */
CUresult pace_look(struct pace *p);
/* Everything is finished. */
void pace_clear(struct pace *p);
/* How long the next piece may take, beyond a deadline. */
uint64_t pace_allows_ns(const struct pace *p);
void pace_done(struct pace *p);

#endif
