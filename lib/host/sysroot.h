#ifndef LIB_HOST_SYSROOT_H
#define LIB_HOST_SYSROOT_H
/*
 * Where this machine's files are read from: "/" or, with --sysroot DIR, a
 * recorded tree: DIR/sys, DIR/proc, DIR/etc, DIR/home, and DIR/netlink with
 * the kernel's dumps (links, addrs, routes4, routes6: raw netlink messages;
 * tests/sysroot/README.md tells how to record or compose one). Under a
 * sysroot nothing is asked of the running kernel and nothing is written.
 */
#include "lib/core/arena.h"

void sysroot_set(const char *dir); /* NULL or "": the real one */
bool sysroot_is_real(void);
/* "/sys/class/net" -> the path to open. Returns @path itself on the real root. */
const char *sysroot_path(struct arena *a, const char *path);
const char *sysroot_netlink(struct arena *a); /* folder of dumps, or NULL */
const char *sysroot_hostname(struct arena *a); /* /proc/sys/kernel/hostname, else gethostname() */

#endif
