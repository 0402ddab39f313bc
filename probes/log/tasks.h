#ifndef PROBES_LOG_TASKS_H
#define PROBES_LOG_TASKS_H
/*
 * The processes of JAX or TensorFlow that did not come to a barrier, as the
 * coordinator lists them, a line each: "/job:jax_worker/replica:0/task:3".
 */
#include "lib/core/arena.h"
#include "probes/log/line.h"

enum { TASKS_MAX = 4096 };

struct tasks {
	uint64_t late[TASKS_MAX / 64]; /* a bit each */
	unsigned n;
};

void tasks_hear(struct tasks *t, const struct log_line *l);
bool tasks_is_late(const struct tasks *t, int task);
/* "tasks 0 and 3"; NULL: none is listed. */
const char *tasks_text(const struct tasks *t, struct arena *a);

#endif
