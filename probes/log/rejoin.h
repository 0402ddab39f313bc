#ifndef PROBES_LOG_REJOIN_H
#define PROBES_LOG_REJOIN_H
/*
 * Lines that a terminal, a mail or fold broke at a fixed width, made whole again:
 * what a failure is known by may stand on both sides of the break. A text counts
 * as broken where no line is longer than that width and lines end just there.
 */
#include "lib/core/base.h"

enum { REJOIN_HEAD = 1 << 14 /* bytes that show it */ };

/* More of @text need not be seen: it has a line that is longer than any such width. */
bool rejoin_is_long(const char *text, size_t n);
/* At which width its lines were broken; 0: they were not. */
size_t rejoin_width(const char *text, size_t n);
/* How much of @text, whole lines, can be joined without what follows it. */
size_t rejoin_whole(const char *text, size_t n, size_t width);
/* In place, the same length: the line ends of its parts follow a whole line, so that those behind
 * it keep their numbers. Returns @width, or 0 where a longer line shows that it is no such text;
 * what follows that line stays as it is. */
size_t rejoin(char *text, size_t n, size_t width);

#endif
