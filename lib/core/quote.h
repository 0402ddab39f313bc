#ifndef LIB_CORE_QUOTE_H
#define LIB_CORE_QUOTE_H
/* What is shown to be typed. */
#include "lib/core/arena.h"

/* Text as one word of a POSIX shell: it's -> 'it'\''s' */
char *shell_quote(struct arena *a, const char *s);

#endif
