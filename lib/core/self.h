#ifndef LIB_CORE_SELF_H
#define LIB_CORE_SELF_H
/*
 * Where the file of the running program is: also without /proc, and where a
 * newer one has taken its place since we began.
 */
#include "lib/core/arena.h"

const char *self_path(struct arena *a);			     /* NULL: unknown */
const char *self_beside(struct arena *a, const char *other); /* in its folder; NULL: unknown */
/*
 * "sudo /opt/bin/portcheck": how @name, a program beside it, is typed for root. sudo looks in a few
 * folders alone, whatever our PATH is. NULL: nothing to type, as --copy-self brought it for this
 * run.
 */
const char *self_as_root(struct arena *a, const char *name);
/* The words that it was started with, its name the first: as they are by now, so that what was
 * wiped is not in them. None without /proc. */
void self_words(struct arena *a, str_list *ret);

#endif
