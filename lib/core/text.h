#ifndef LIB_CORE_TEXT_H
#define LIB_CORE_TEXT_H
/*
 * A text that grows, inside an arena. Always ends in a NUL that n does not
 * count; s is never NULL after text_init().
 */
#include "lib/core/arena.h"

struct text {
	struct arena *a;
	char *s;
	size_t n, cap;
};

void text_init(struct text *t, struct arena *a);
void text_add(struct text *t, const char *s);
void text_addn(struct text *t, const char *s, size_t n);
void text_addf(struct text *t, const char *fmt, ...) PRINTF(2, 3);

/* As HTML and SVG have it, which know no control characters; NULL is nothing. */
void text_markup(struct text *t, const char *s);

/* " and 3 more", behind a list of which @shown of @all are named; nothing where it is whole.
 * @between stands before it as between the others: "", "," or ";". */
void text_more(struct text *t, const char *between, size_t all, size_t shown);

/* FNV-1a, to go on from @h; 0 begins. NULL is as "". */
uint32_t text_hash(uint32_t h, const char *s);

#endif
