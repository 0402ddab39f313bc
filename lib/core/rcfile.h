#ifndef LIB_CORE_RCFILE_H
#define LIB_CORE_RCFILE_H
/*
 * A marked block of ours inside a text that belongs to somebody else. Pure
 * functions from text to text (a NUL ends what they return); lib/core/file.h does the writing.
 *
 *	# >>> windsock >>>
 *	...
 *	# <<< windsock <<<
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/core/span.h"

enum rc_place {
	RC_APPEND,	      /* at the end */
	RC_KEEP,	      /* where it is: what follows it may mean something; else at the end */
	RC_ABOVE_INTERACTIVE, /* above the first "not interactive: return" guard of a shell rc
				 file (Debian's `case $- in`, `[ -z "$PS1" ] && return`,
				 `[[ $- != *i* ]] && return`), or login, or on a terminal of
				 ssh's; else at the end */
};

/* The text with exactly one block holding @body (lines ending in newline). Idempotent. */
int rc_put(struct arena *a, struct span old, const char *body, enum rc_place where,
	   struct span *ret, struct err *e) MUST_CHECK;
/* The text as it was before rc_put, to the byte. @ret_found says whether there was a block. */
int rc_remove(struct arena *a, struct span old, struct span *ret, bool *ret_found,
	      struct err *e) MUST_CHECK;
/* What stands below the block; empty: nothing, or there is none. */
struct span rc_below(struct span text);

#endif
