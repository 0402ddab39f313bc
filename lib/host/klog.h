#ifndef LIB_HOST_KLOG_H
#define LIB_HOST_KLOG_H
/*
 * The kernel's log of this boot: /dev/kmsg, else what syslog(2) gives; below a
 * sysroot the file dev/kmsg of the tree. Only lines that hold one of a few
 * words are kept, and never more than KLOG_MAX of them. Never blocks.
 */
#include "lib/core/arena.h"

enum { KLOG_MAX = 16384 };

struct klog_line {
	double seconds; /* since the machine was booted; NAN: not said */
	const char *text;
};
typedef LIST(struct klog_line) klog_list;

/* False: it may not be read here, or there is none. */
bool klog_read(struct arena *a, const char *const *words, size_t n, klog_list *ret);
/* The same of lines that are at hand (of its fuzzer), each with its end; they are changed. Adds to
 * @ret. */
void klog_sift(struct arena *a, char *lines, size_t n, const char *const *words, size_t nwords,
	       klog_list *ret);
/* Seconds since boot, now; NAN unknown. */
double klog_now(struct arena *a);

#endif
