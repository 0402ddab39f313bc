#ifndef PROBES_NODE_SAME_H
#define PROBES_NODE_SAME_H
/*
 * Is code or data the same on every host? A file or a folder in one short word:
 * names, sizes, link targets and contents; of a file over 64 MiB its size, first
 * and last MiB. Times and owners do not count: they differ with reason.
 */
#include "lib/core/arena.h"

/* "3f2a90c4d1e8b7a6, 12 files", or "missing", "unreadable (FILE)". */
const char *same_digest(const char *path, struct arena *a);

#endif
