#ifndef LIB_CORE_LINEAGE_H
#define LIB_CORE_LINEAGE_H
/* Who started us, and whoever started that one. */
#include "lib/core/arena.h"

#include <sys/types.h>

/* 0: it has none, or is gone. */
pid_t parent_of(struct arena *a, pid_t pid);
/*
 * What the variable @name is in our environment, or else in the nearest of theirs: sudo takes
 * variables away, and we ourselves may have. NULL: nobody has it who lets us read that.
 */
const char *lineage_env(struct arena *a, const char *name);

/* The same of an environment as /proc has it: "A=1\0B=2\0", @n bytes and a NUL behind. */
const char *environ_find(const char *text, size_t n, const char *name);

#endif
