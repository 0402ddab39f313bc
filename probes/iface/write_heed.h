#ifndef PROBES_IFACE_WRITE_HEED_H
#define PROBES_IFACE_WRITE_HEED_H
/*
 * For write.c: what keeps those from heeding a file who should: a line of somebody else's that
 * counts more, a shell or an NCCL that reads another file.
 */
#include "lib/core/span.h"
#include "probes/iface/write.h"

/* A file as it is, or as it is to be. */
struct file_text {
	const char *path;
	bool exists;
	struct span text; /* a NUL ends it, too */
};

/* False: findings write.conflict, write.home and
 * write.shell say why it is not heeded. */
bool write_is_heeded(const struct write_request *q, const struct suggestion *s,
		     const struct file_text *old, const struct file_text *new, struct report *r);

#endif
