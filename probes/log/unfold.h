#ifndef PROBES_LOG_UNFOLD_H
#define PROBES_LOG_UNFOLD_H
/*
 * Messages that kubectl -o yaml folded over several lines, made whole again: what a
 * failure is known by may stand on both sides of a fold.
 */
#include "lib/core/base.h"

/* It is such a text, by its head. */
bool unfold_is_due(const char *text, size_t n);
/* How much of @text, whole lines, can be unfolded without what follows it. */
size_t unfold_whole(const char *text, size_t n);
/* In place, the same length and as many lines: the ends of its parts follow a whole line. */
void unfold(char *text, size_t n);

#endif
