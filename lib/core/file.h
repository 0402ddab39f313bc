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
/*
 * The same of what somebody named, which may come only once: "-" is stdin, and there are pipes,
 * <(zcat x.gz). @patience_ns: the longest silence of one; 0: until the command is interrupted.
 */
int file_read_given(const char *path, size_t max, uint64_t patience_ns, struct arena *a, char **ret,
		    size_t *ret_n, struct err *e) MUST_CHECK;
#define FILE_PATIENCE_NS (600 * UINT64_C(1000000000)) /* somebody else's command makes it */
/*
 * "cannot read @path: ", and why by errno, which is kept: of what somebody named. Where it is not
 * there, or no file, it is the command line that is wrong. -1.
 */
int file_refused(const char *path, struct err *e);
/* Of a pattern that the shell left as it is, where dumps of PyTorch's Flight Recorder were meant.
 */
#define FILE_DUMPS_LIE "dumps lie on the host of each rank"
#define FILE_DUMPS_MADE                                                                            \
	"in /tmp or where its TORCH_NCCL_DEBUG_INFO_TEMP_FILE says, and are made with "            \
	"TORCH_NCCL_TRACE_BUFFER_SIZE=20000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"
bool file_is_stream(const char *path);
const char *file_said(const char *path); /* "stdin", where it is that */
/* Its parts: a descriptor; what there is next (0: no more); and all the rest behind @t. */
int file_open_stream(const char *path, struct err *e) MUST_CHECK;
ssize_t file_read_part(int fd, const char *path, uint64_t patience_ns, char *to, size_t n,
		       struct err *e) MUST_CHECK;
struct text;
int file_read_rest(int fd, const char *path, size_t max, uint64_t patience_ns, struct text *t,
		   struct err *e) MUST_CHECK;
/* A short attribute below /sys or /proc: first line without newline, or NULL when unreadable. */
char *file_line(struct arena *a, const char *path);
char *file_line_at(struct arena *a, int dirfd, const char *path);
/* Where a shell would find @program, which has no slash; NULL: nowhere. */
const char *file_on_path(struct arena *a, const char *program);
/* Everything, however often it takes. */
int file_write_all(int fd, const char *data, size_t n) MUST_CHECK; /* -1: errno says why */
/* The same, where PATH is @path. */
const char *file_in_path(struct arena *a, const char *path, const char *program);

/*
 * Each regular file of the folder @path, by name and without those below it, until take() or Ctrl-C
 * ends it with -1. Their names, the folder's in front, are in @a.
 */
struct file_each {
	int (*take)(void *arg, const char *file, struct err *e);
	void *arg;
	const char *doing; /* of many a person is told: "recordings read" */
};
int file_each(const char *path, const struct file_each *with, struct arena *a,
	      struct err *e) MUST_CHECK;

/* The file (or folder) of which @path is a slip; NULL: there is none. */
const char *file_near(const char *path, struct arena *a);
/* What to do where @path could not be made, by errno, which is kept. Only the hint changes; -1. */
int file_advise(const char *path, struct err *e);
int file_advise_stdout(struct err *e); /* where stdout is a file that there is no room for */

/* "." of a bare name, "/a" of "/a//b". */
const char *file_folder(const char *path, struct arena *a);
/* The folder of @path, in which it was renamed: before that a rename is not on the disk. Where a
 * file system knows no such thing that is no failure. -1: errno says why. */
int file_sync_folder(const char *path) MUST_CHECK;

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
