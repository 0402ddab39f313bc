#ifndef LIB_CORE_PACKED_H
#define LIB_CORE_PACKED_H
/*
 * Compressed files and archives: nothing here unpacks them, the system's own programs do, and what
 * to type for that is said. A path of "-" is stdin.
 */
#include "lib/core/err.h"

struct packed {
	const char *end;    /* ".gz" */
	const char *cat;    /* "zcat": all of it on stdout */
	const char *pipe;   /* the same of what comes in */
	const char *unpack; /* "gunzip -k": as a file beside it; an archive into ... */
	const char *into;   /* ... " -C", a folder; NULL: it is no archive */
};

/* By its name, and by how it begins, whatever it is called. NULL: it is neither. */
const struct packed *packed_named(const char *path);
const struct packed *packed_begins(const char *head, size_t n);

/* Both refuse it with what to type: @reader reads all of it on its stdin, */
int packed_refuse(const struct packed *p, const char *path, const char *reader, struct err *e);
/* or as a file beside it, where its name says whose it is (no archive, and @path ends as such do);
 */
int packed_refuse_named(const struct packed *p, const char *path, const char *reader,
			struct err *e);
/* or @reader is given the files that it was made of. */
int packed_refuse_files(const struct packed *p, const char *path, const char *reader,
			struct err *e);
/* One of the files in @folder, which is refused for it. */
int packed_refuse_folder(const struct packed *p, const char *folder, const char *reader,
			 struct err *e);

#endif
