#ifndef PROBES_LOG_ENDLESS_H
#define PROBES_LOG_ENDLESS_H
/*
 * What is no file of lines although it can be read: devices, which may never end,
 * and what the kernel makes as it is read (/proc, /sys and the like), of which a
 * part is taken, without waiting for more.
 */
#include "lib/core/err.h"

enum {
	KERNEL_MOST = 16 << 20, /* bytes of such a file */
	KERNEL_READS = 4096,
	KERNEL_MS = 100, /* that it may take to have more */
};

struct stat;

/* -1 where @st is a device, but no terminal and not /dev/null; else 0. */
int endless_refuse(const char *path, int fd, const struct stat *st, struct err *e) MUST_CHECK;
/* It is the kernel's. */
bool endless_is_kernel(int fd);
/* -1 where all of the folder is; else 0. */
int endless_refuse_folder(const char *path, struct err *e) MUST_CHECK;

#endif
