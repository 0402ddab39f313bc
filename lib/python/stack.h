#ifndef LIB_PYTHON_STACK_H
#define LIB_PYTHON_STACK_H
/*
 * Where the main thread of a running Python stands: which function, file and
 * line, without its help, and without stopping it. CPython 3.8 to 3.14 on 64-bit
 * machines. Hand-written because what else can do it is a program of its own
 * that is on no cluster by default.
 *
 * A process that runs changes what is being read. A look that ran into such a
 * change is taken again; what then is still no stack is not told.
 */
#include "lib/core/err.h"
#include "lib/python/layout.h"

#include <sys/types.h>

struct arena;

struct py_frame {
	const char *function; /* "Trainer.train" from 3.11 on, else "train" */
	const char *file;
	int line; /* 0: unknown */
};

enum { PY_FRAMES = 256 /* more are not read */ };

/* Of the main thread; of the others only how many there are is known. */
struct py_stack {
	struct py_frame *frames; /* the innermost first; none: it begins or ends */
	size_t n;
	uint64_t mark; /* the same as before: it has not moved by one instruction */
	size_t threads;
};

struct py_process {
	pid_t pid;
	uint64_t runtime;
	struct py_layout layout;
};

/* ERR_ABSENT: it is no Python, or one of a version that is not known. */
int py_open(pid_t pid, struct arena *a, struct py_process *ret, struct err *e) MUST_CHECK;
/* -1: it is gone, or never held still for long enough. */
int py_look(const struct py_process *p, struct arena *a, struct py_stack *ret,
	    struct err *e) MUST_CHECK;

/* Both, once, of what may be no Python at all. False: there is no stack. */
bool py_glance(pid_t pid, struct arena *a, struct py_stack *ret);
/* "Trainer.train": train */
const char *py_bare_name(const char *function);

#endif
