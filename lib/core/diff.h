#ifndef LIB_CORE_DIFF_H
#define LIB_CORE_DIFF_H
#include "lib/core/arena.h"
#include "lib/core/span.h"

/* A unified diff (three lines of context) of two texts, "" when equal. */
char *text_diff(struct arena *a, const char *path, struct span old, struct span new);

#endif
