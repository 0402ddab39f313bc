#ifndef LIB_PYTHON_RUNTIME_H
#define LIB_PYTHON_RUNTIME_H
/*
 * Where in a process CPython keeps its state: the symbol _PyRuntime of its
 * program or of its libpython, whatever the one or the other is called, also
 * in another container's file system; and its environment.
 */
#include "lib/core/arena.h"

#include <sys/types.h>

struct py_runtime {
	uint64_t at;	  /* of _PyRuntime; 0: the process is no Python */
	unsigned version; /* 0x030b, by the symbol Py_Version, or else by names of files; 0: unknown
			   */
};
void py_find(pid_t pid, struct arena *a, struct py_runtime *ret);

/* The variables that a process has now, one behind the other as in /proc/PID/environ, which has
 * those that it began with: it may have set some since, or laid a title over them. */
const char *py_environ(pid_t pid, struct arena *a, size_t *ret_n);

#endif
