#ifndef BENCH_TRAIN_PRODUCT_H
#define BENCH_TRAIN_PRODUCT_H
/* What is made of a run's data (as in the JSON): a picture, and a command to go on with. */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#include <cjson/cJSON.h>

/* The loss of every step, and of each epoch's validation, as SVG. */
int product_plot(const cJSON *data, const char *path, struct err *e) MUST_CHECK;

extern const char *const product_launchers[]; /* NULL-terminated */
/* Shell lines that start one's own train.py the way that worked. */
const char *product_emit(const cJSON *data, const char *launcher, struct arena *a);

#endif
