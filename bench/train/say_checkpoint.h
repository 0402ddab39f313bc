#ifndef BENCH_TRAIN_SAY_CHECKPOINT_H
#define BENCH_TRAIN_SAY_CHECKPOINT_H
/* Between say_checkpoint.c, say_resume.c and say_data_checkpoint.c: what came of --checkpoint. */
#include "bench/train/say_run.h"
#include "lib/core/fix.h"
#include "lib/host/mounts.h"

/* Of what was written, or read from it: bytes of all ranks, and the seconds of the slowest. What
 * was written by rank 0 alone counts once. */
uint64_t say_checkpoint_sum(const struct run *x, bool is_read, double *ret_seconds);
/* How it was read: what of a rank's two readings the other host's disk had to answer. */
const struct checkpoint_deed *say_checkpoint_read(const struct run *x, int rank);

int say_checkpoint_readers(const struct run *x); /* who could do that: so many ranks */
/* GB/s, of each rank where all read one file, of all together where each reads its own; NAN. */
double say_checkpoint_reading(const struct run *x);

/* say_resume.c */
void say_resume(const struct run *x);
void say_checkpoint_speed(const struct run *x);
/* A model of 7 billion parameters with Adam's state in float32. */
#define CHECKPOINT_LARGE_BYTES (7e9 * 12)

#endif
