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

/* False: findings write.conflict, write.home and write.shell say why it is not heeded. */
bool write_is_heeded(const struct write_request *q, const struct suggestion *s,
		     const struct file_text *old, const struct file_text *new, struct report *r);
/* The login shell here reads another file than ~/.bashrc, or reads this one first. */
void heed_login(struct report *r);

/* ---- its parts ---- */

/* The line at *@p without its end; moves *@p behind it. */
char *heed_line(const char **p, const char *end, struct arena *a);
/* The next command in a line of a shell's, without "export", "then" and the like; NULL: no more. */
const char *heed_command(const char **at, struct arena *a);
/* The assignment in a line of a shell's: "NAME=value", NAME one that a suggestion sets; or NULL. */
const char *heed_assignment(const char *line, struct arena *a);
/* The finding write.conflict of that line, which becomes a comment. */
void heed_conflict(const char *path, size_t line, const char *message, struct report *r);

#endif
