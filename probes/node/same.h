#ifndef PROBES_NODE_SAME_H
#define PROBES_NODE_SAME_H
/*
 * Is code or data the same on every host? A file or a folder in one short word:
 * names, sizes, link targets and contents; of a file over 64 MiB its size, first
 * and last MiB. Where the path itself is a link, what it leads to counts. Times and owners do not
 * count: they differ with reason, and with them what Python and git keep of them (__pycache__,
 * .git).
 */
#include "lib/core/arena.h"

struct same_file {
	const char *name;     /* from the path on; "" is the path itself */
	const char *contents; /* of its contents, a short word */
};
typedef LIST(struct same_file) same_list;

/* "3f2a90c4d1e8b7a6, 12 files", or "missing", "unreadable (FILE)", SAME_LATE. @until_ns: what is
 * not read to its end by then stays so; 0: whatever it takes, but for Ctrl-C and for a file system
 * that does not answer (a dead NFS server's): it is read in a child, which is left behind then.
 * @ret: its first files, for who wants to know which of them differs. */
const char *same_digest(const char *path, uint64_t until_ns, struct arena *a, same_list *ret);
#define SAME_LATE "not read to its end in time"

#endif
