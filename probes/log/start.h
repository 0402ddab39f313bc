#ifndef PROBES_LOG_START_H
#define PROBES_LOG_START_H
/* A command begins, in our process group, and where that fails it is known why. */
#include "lib/core/err.h"

#include <sys/types.h>

struct relay;

struct started {
	pid_t pid;
	int told; /* where it says that it could not; -1: nowhere */
};

/* Its output goes to @out and @err_fd; signals go to it from here. */
int start_command(char *const *argv, int out, int err_fd, struct relay *relay, struct started *ret,
		  struct err *e) MUST_CHECK;
/* When it has ended, once: -1 if it never was that command, with what to do. */
int start_done(struct started *s, char *const *argv, struct err *e) MUST_CHECK;

#endif
