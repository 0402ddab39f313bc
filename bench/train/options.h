#ifndef BENCH_TRAIN_OPTIONS_H
#define BENCH_TRAIN_OPTIONS_H
/* The options that all ranks have to be started with alike, as numbers that travel. */
#include "bench/train/train.h"

/* Of @o, OPTIONS_ALIKE of them. */
void options_take(const struct train_opts *o, double *ret);
/* The first that differs; -1: none. */
int options_odd(const double *a, const double *b);
/* "--steps 41", "no --steps", "--pattern fsdp" */
const char *options_text(int which, double value, struct arena *a);

#endif
