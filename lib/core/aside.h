#ifndef LIB_CORE_ASIDE_H
#define LIB_CORE_ASIDE_H
/*
 * Work that may never come back, such as a driver's call about a sick device,
 * done in a child process: what it says arrives record by record, and what
 * came before it fell silent is kept. The child ends with us; one that the
 * kernel cannot end (it sits in a driver) is left behind, never waited for.
 */
#include "lib/core/base.h"

enum { ASIDE_MAX = 1 << 16 }; /* bytes of a record */

struct aside {
	void (*work)(int to, void *arg); /* in the child; returning ends it well */
	void (*take)(void *arg, const void *record, size_t n); /* here, for each record */
	void *arg;
	uint64_t deadline_ns; /* the longest silence; take() may change what follows */
};

enum aside_end {
	ASIDE_DONE,
	ASIDE_SILENT,	   /* nothing came within the deadline */
	ASIDE_DIED,	   /* the child died: a crash in somebody's library */
	ASIDE_NONE,	   /* no child could be started */
	ASIDE_INTERRUPTED, /* Ctrl-C, or the command's budget */
};

enum aside_end aside_run(const struct aside *s);
/* In the child: one record. Ends the child when nobody listens any more. */
void aside_say(int to, const void *record, size_t n);

#endif
