#ifndef PROBES_IFACE_WRITE_HEED_H
#define PROBES_IFACE_WRITE_HEED_H
/*
 * For write.c: what keeps those from heeding a file who should: a line of somebody else's that
 * counts more, a shell or an NCCL that reads another file.
 */
#include "probes/iface/write.h"

/* @old and @new: the text of @path before and after. False: findings write.conflict, write.home and
 * write.shell say why it is not heeded. */
bool write_is_heeded(const struct write_request *q, const struct suggestion *s, const char *path,
		     const char *old, size_t old_n, const char *new, size_t new_n,
		     struct report *r);

#endif
