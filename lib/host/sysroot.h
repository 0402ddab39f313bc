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
const char *sysroot_netlink(struct arena *a);  /* folder of dumps, or NULL */
const char *sysroot_hostname(struct arena *a); /* /proc/sys/kernel/hostname, else gethostname() */

/* An attribute's first line, a link's target, its last part: NULL when unreadable. */
const char *sysroot_line(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
const char *sysroot_link(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
const char *sysroot_link_name(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
/* A whole number in an attribute; @otherwise when unreadable or something else. */
int64_t sysroot_int(struct arena *a, int64_t otherwise, const char *fmt, ...) PRINTF(3, 4);
bool sysroot_exists(const char *fmt, ...) PRINTF(1, 2);
/* The names in a folder, sorted ("mlx5_2" before "mlx5_10"); none when there is no folder. */
void sysroot_list(struct arena *a, str_list *ret, const char *fmt, ...) PRINTF(3, 4);

#endif
