#ifndef LIB_CORE_UTF8_H
#define LIB_CORE_UTF8_H
/* Text from elsewhere may hold any byte: one strict decoder for all who look at characters. */
#include "lib/core/arena.h"

#define UTF8_BAD UINT32_MAX

/* Of the character that begins with @first; 0: none does. */
size_t utf8_length(unsigned char first);

/*
 * Reads one character of the @n > 0 bytes at @s and returns how many bytes it
 * took, at least one. A broken sequence is taken up to where it breaks (so one
 * replacement stands for it, as browsers do) and gives UTF8_BAD. In a text that
 * ends in NUL, 4 will do for @n.
 */
size_t utf8_next(const char *s, size_t n, uint32_t *ret);
/* The bytes of one character, how many of them there are. */
size_t utf8_put(uint32_t c, char ret[4]);
/* @s itself when it is UTF-8, else a copy with U+FFFD for every broken sequence. */
const char *utf8_mend(struct arena *a, const char *s);

#endif
