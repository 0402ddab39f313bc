#ifndef LIB_PYTHON_PEEK_H
#define LIB_PYTHON_PEEK_H
/*
 * Memory of another process, read while it runs: nothing in it is stopped or
 * changed. What is read may be half old and half new, so whoever follows
 * pointers through it bounds each step and believes nothing.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#include <sys/types.h>

/* All @n bytes; false: they are not there, or not ours to see (errno). */
bool peek(pid_t pid, uint64_t at, void *to, size_t n);
/* A pointer, or 0. */
uint64_t peek_pointer(pid_t pid, uint64_t at);
/* A string of less than @n bytes, with its end; false: a longer one, or none. */
bool peek_text(pid_t pid, uint64_t at, char *to, size_t n);
/* May we read it at all? With what lets us, where not. */
int peek_allowed(pid_t pid, uint64_t at, struct err *e) MUST_CHECK;

#endif
