#ifndef BENCH_TRAIN_WHO_H
#define BENCH_TRAIN_WHO_H
/* The ranks that trained, still known when their communicator is gone. */
#include "bench/train/carrier.h"
#include "bench/train/say.h"

/* @on_gpu: each told the others which GPU it has. */
struct say_world who_trained(const struct carrier *c, struct rdzv *z, bool on_gpu, struct arena *a);

/* Those that have met, and may not have come to a communicator. */
struct say_world who_met(const struct carrier *c, struct rdzv *z, struct arena *a);

#endif
