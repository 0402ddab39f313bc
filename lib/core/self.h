#ifndef LIB_CORE_SELF_H
#define LIB_CORE_SELF_H
/*
 * Where the file of the running program is: also without /proc, and where a
 * newer one has taken its place since we began.
 */
#include "lib/core/arena.h"

const char *self_path(struct arena *a);			     /* NULL: unknown */
const char *self_beside(struct arena *a, const char *other); /* in its folder; NULL: unknown */

#endif
