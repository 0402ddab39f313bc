#ifndef BENCH_TRAIN_SAY_H
#define BENCH_TRAIN_SAY_H
/* Judges a training run: findings for people, and the facts as data. */
#include "bench/train/train.h"
#include "bench/train/who.h"
#include "lib/report/report.h"

/* @alone: NULL where it did not come to the comparison. What was not reached is not judged. */
void say_all(struct report *r, const struct train_opts *o, const struct who *w,
	     const struct train_result *res, const struct train_alone *alone);
/* bench/train/say_pace.c: which rank computes longest, but for its longest step, and how many times
 * as long as the fastest quarter of them. */
int say_slowest(const struct train_result *res, int ranks, double *ret_times);

/* bench/train/say_data.c */
struct run;
void say_data(struct report *r, const struct train_opts *o, const struct who *w,
	      const struct train_result *res, const struct train_alone *alone);
/* bench/train/say_data_checkpoint.c */
void say_data_checkpoint(cJSON *data, const struct run *x);

#endif
