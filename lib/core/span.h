#ifndef LIB_CORE_SPAN_H
#define LIB_CORE_SPAN_H
/* A stretch of a text: where it begins and how long it is, whoever owns the text. No NUL ends it,
 * unless who made it says so. */
#include "lib/core/base.h"

struct span {
	const char *s;
	size_t n;
};

static inline struct span span_of(const char *s) { return (struct span){s, strlen(s)}; }

#endif
