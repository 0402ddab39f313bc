#ifndef PROBES_LOG_SCAN_H
#define PROBES_LOG_SCAN_H
/*
 * Finds a few hundred literals in a gigabyte per second or so (Wu and Manber,
 * 1994): a table of three-byte blocks says how far no literal can begin, so
 * most bytes are never looked at. Case counts; NUL and any other byte is text.
 */
#include "lib/core/arena.h"

struct scan;

/* A literal of at least SCAN_MIN bytes, and what to call it. It is not copied. */
enum { SCAN_MIN = 6 };
struct literal {
	const char *s;
	size_t n;
	unsigned tag;
};

/* All of it lives in @a. NULL when a literal is too short. */
struct scan *scan_new(struct arena *a, const struct literal *v, size_t n);

/*
 * Looks for the next literal that begins at @at or later. Returns where the
 * next search must begin, with @ret_at and @ret_tag set; @n when there is none.
 * Of several literals that begin at one place all are found, one per call
 * (@state: 0 at first, kept by the caller).
 */
size_t scan_next(const struct scan *s, const char *text, size_t n, size_t at, unsigned *state,
		 size_t *ret_at, unsigned *ret_tag);

#endif
