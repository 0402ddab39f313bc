#ifndef PROBES_LOG_KEPT_H
#define PROBES_LOG_KEPT_H
/*
 * A folder of --save, HOST/path in it, is marked as one: then it is read again as it was there.
 * All in it was asked for, hidden or not, and the first folder on the way is the host.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#define KEPT_MARK ".ncclwhy"

struct kept {
	const char *folder, *list; /* its own text */
};

/* @shared: files and folders in it that are of several hosts. */
int kept_mark(const char *folder, const str_list *shared, struct err *e) MUST_CHECK;
/* False: @folder is another one. All is in @a. */
bool kept_open(const char *folder, struct arena *a, struct kept *ret);
/* Whose @path is; NULL: of several, of nobody known, or it is elsewhere. */
const char *kept_host(const struct kept *k, const char *path, struct arena *a);

#endif
