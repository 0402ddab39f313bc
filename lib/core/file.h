#ifndef LIB_CORE_FILE_H
#define LIB_CORE_FILE_H
/* Whole files, read with a bound and replaced without a moment of damage. */
#include "lib/core/arena.h"
#include "lib/core/err.h"

/*
 * Reads a regular file of at most @max bytes (more is an error, never a cut).
 * The text is NUL-terminated; @ret_n counts its bytes, NULs inside included.
 * A missing file is an error with errno ENOENT kept.
 */
int file_read(const char *path, size_t max, struct arena *a, char **ret, size_t *ret_n,
	      struct err *e) MUST_CHECK;
/* A short attribute below /sys or /proc: first line without newline, or NULL when unreadable. */
char *file_line(struct arena *a, const char *path);
char *file_line_at(struct arena *a, int dirfd, const char *path);
/* Where a shell would find @program, which has no slash; NULL: nowhere. */
const char *file_on_path(struct arena *a, const char *program);
/* The same, where PATH is @path. */
const char *file_in_path(struct arena *a, const char *path, const char *program);

/* What to do where @path could not be made, by errno, which is kept. Only the hint changes; -1. */
int file_advise(const char *path, struct err *e);

struct file_replace_opts {
	unsigned create_mode; /* for a file that does not exist yet; 0 means 0644 */
	bool make_parents;
};
/*
 * Replaces @path through a temporary file beside it, fsync and rename, so a
 * reader (and a kill -9 or power cut) sees the old or the new text, nothing
 * else. Keeps mode and owner; a symbolic link stays one and its target is
 * replaced. Refuses what is not a regular file.
 */
int file_replace(const char *path, const char *data, size_t n, const struct file_replace_opts *o,
		 struct err *e) MUST_CHECK;

#endif
