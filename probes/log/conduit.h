#ifndef PROBES_LOG_CONDUIT_H
#define PROBES_LOG_CONDUIT_H
/*
 * How a command's output comes to us without the command noticing: a pipe; but
 * where we write to a terminal, a terminal of the same size, so that programs
 * flush their lines, colour them and draw their bars as they do without us. It
 * changes no byte.
 */
#include "lib/core/err.h"

struct conduit {
	int ours, theirs; /* both close-on-exec */
	bool is_terminal;
};

/* Like our own @fd. A pipe where no terminal can be had. */
int conduit_open(struct conduit *c, int fd, struct err *e) MUST_CHECK;
/* Our terminal's size, for the command: true when it had changed. */
bool conduit_resize(const struct conduit *c, int fd);
/* Do both lead to one place? Then one conduit keeps the order of what is written. */
bool conduit_is_one(int fd, int other);

#endif
