#ifndef LIB_CORE_DIFF_H
#define LIB_CORE_DIFF_H
#include "lib/core/arena.h"

/* A unified diff (three lines of context) of two texts, "" when equal. */
char *text_diff(struct arena *a, const char *path, const char *old, size_t old_n, const char *new,
		size_t new_n);

#endif
