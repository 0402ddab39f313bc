#ifndef PROBES_LOG_ERE_H
#define PROBES_LOG_ERE_H
/*
 * POSIX extended regular expressions, and whether a text has what one of them matches:
 * what regexec() says, too. That keeps a table for each state that it ever was in, so a
 * thousand expressions fill no processor's cache; these are a few kilobytes each, look
 * for their literals first, pass by an alternative with a word of which the text lacks
 * three bytes in a row, and try no place of a text twice.
 */
#include "lib/core/arena.h"

struct ere;

/* Of the first @n bytes at @pattern; all of it lives in @a. NULL: it is none, or has what the
 * catalogue does without: a backslash before a letter or digit, two quantifiers in a row, or
 * an endless one of what may be empty. */
const struct ere *ere_of(struct arena *a, const char *pattern, size_t n);

enum { ERE_TEXT = 2048 }; /* bytes of a text that are looked at */

bool ere_is_in(const struct ere *e, const char *text);

#endif
