#ifndef LIB_CORE_RCFILE_H
#define LIB_CORE_RCFILE_H
/*
 * A marked block of ours inside a text that belongs to somebody else. Pure
 * functions from text to text; lib/core/file.h does the writing.
 *
 *	# >>> windsock >>>
 *	...
 *	# <<< windsock <<<
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum rc_place {
	RC_APPEND,	      /* at the end */
	RC_ABOVE_INTERACTIVE, /* above the first "not interactive: return" guard of a shell rc
				 file (Debian's `case $- in`, `[ -z "$PS1" ] && return`,
				 `[[ $- != *i* ]] && return`), or login, or on a terminal of
				 ssh's; else at the end */
};

/* The text with exactly one block holding @body (lines ending in newline). Idempotent. */
int rc_put(struct arena *a, const char *old, size_t old_n, const char *body, enum rc_place where,
	   char **ret, size_t *ret_n, struct err *e) MUST_CHECK;
/* The text as it was before rc_put, to the byte. @ret_found says whether there was a block. */
int rc_remove(struct arena *a, const char *old, size_t old_n, char **ret, size_t *ret_n,
	      bool *ret_found, struct err *e) MUST_CHECK;
/* Where that begins which stands below the block; @n: there is none. */
size_t rc_below(const char *text, size_t n);

#endif
