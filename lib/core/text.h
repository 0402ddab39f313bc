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

#endif
