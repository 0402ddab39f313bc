#ifndef PROBES_LOG_NEED_H
#define PROBES_LOG_NEED_H
/*
 * The literals that all the matches of a POSIX extended expression have, in their
 * order: "a(bc|de).*fg" needs bc or de, and behind it fg. To look for them takes a
 * tenth of the time that the expression takes, and most lines that have one of a
 * signature's anchors lack another of its literals.
 */
#include "lib/core/arena.h"

struct need;

/* Of @ere up to SIGNATURE_BUT. NULL, which every text meets: nothing is known to be in all that it
 * matches. All of it lives in @a. */
struct need *need_of(struct arena *a, const char *ere);

/* False: the expression does not match @text. True: it may. */
bool need_met(const struct need *n, const char *text);

#endif
