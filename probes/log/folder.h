#ifndef PROBES_LOG_FOLDER_H
#define PROBES_LOG_FOLDER_H
/*
 * Which files of a folder, and of those in it, are logs or dumps to be read. Bounded: a tree may be
 * somebody's whole home. What is left out is listed, so that it can be said.
 *
 * torchrun (and accelerate by it) puts each attempt's output into RUN_ID_x/attempt_N/LOCAL_RANK/;
 * only the newest attempt that has anything is read there, and no run that had ended before the
 * newest began.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "probes/log/kept.h"

enum {
	FOLDER_DEPTH = 16,
	FOLDER_FILES = 4096,   /* that are read */
	FOLDER_NAMES = 100000, /* that are looked at */
};

enum folder_left {
	LEFT_DATA,    /* weights and data, by their names or by what is in them */
	LEFT_CODE,    /* of folders in it: what programs are made of */
	LEFT_HIDDEN,  /* files and folders */
	LEFT_EARLIER, /* folders of attempts */
	LEFT_KINDS
};

struct folder {
	str_list files; /* in their order, in which numbers count as such */
	str_list left[LEFT_KINDS];
	LIST(struct kept) kept; /* of those that were named: --save's */
	bool is_cut;		/* there were more, or deeper ones */
};

/* Adds what is to be read at @path: itself, or of a folder its files. -1: it has nothing to read.
 * Links are followed from @path alone, and there only to files. */
int folder_files(const char *path, struct arena *a, struct folder *ret, struct err *e) MUST_CHECK;

/* On stderr: what was left out. @reader: reads what it is given ("ncclwhy"); NULL: not from here.
 */
void folder_say(const struct folder *f, const char *reader);

/* Patterns of names for find, of weights and data; NULL-terminated. */
extern const char *const folder_data_ends[];

#endif
