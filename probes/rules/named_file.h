#ifndef PROBES_RULES_NAMED_FILE_H
#define PROBES_RULES_NAMED_FILE_H
/*
 * Files that settings name: can this user read them, or make them? Of a recorded tree (--sysroot)
 * nothing is said: not everything was recorded. A folder that hangs is not waited for.
 */
#include "lib/core/arena.h"

/* Why not, as what follows the path in a sentence ("is not here"). NULL: it can be read. */
const char *named_file_unreadable(struct arena *a, const char *path);
/* The same of what the loader is to take, which are ELF files. */
const char *named_file_no_library(struct arena *a, const char *path);
/* Why no file can be made there, as a clause: "there is no folder /logs". NULL: one can. */
const char *named_file_unwritable(struct arena *a, const char *path);
/* Its folder, where there is none and it can be made; else NULL. */
const char *named_file_no_folder(struct arena *a, const char *path);

#endif
