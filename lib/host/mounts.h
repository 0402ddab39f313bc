#ifndef LIB_HOST_MOUNTS_H
#define LIB_HOST_MOUNTS_H
/*
 * On which file system something lies, as the kernel has it mounted for us: what a person needs to
 * see that two hosts do not mean the same folder by one name; and how much goes there.
 */
#include "lib/core/arena.h"

struct statvfs;

struct mount {
	const char *kind;   /* "nfs4", "ext4", "overlay" */
	const char *source; /* "nas:/export", "/dev/vda1" */
	const char *point;  /* where it is mounted */
};

/* Of what is open (O_PATH is enough). False: the kernel does not say. */
bool mount_of(int fd, struct arena *a, struct mount *ret);
/* The one of that number in the text of /proc/self/mountinfo. */
bool mount_in(const char *text, uint64_t id, struct arena *a, struct mount *ret);
/* Is it one machine's own, whose files no other sees, and where a file is seen at once? */
bool mount_is_local(const char *kind);
/* statvfs(), but a tmpfs to which nobody gave a limit (size=0) has what the memory has. */
int mount_room(const char *path, struct statvfs *ret);

#endif
