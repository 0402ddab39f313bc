#ifndef LIB_CORE_APART_H
#define LIB_CORE_APART_H
/*
 * A process beside us: a fork of this one that becomes no other program. Whoever reads what we say
 * waits for its end, too, as long as it has one of our files open.
 */
#include "lib/core/base.h"

/* Where a reader finds nothing, and what is written is lost. -1: there is no descriptor. */
int open_nothing(void);
/*
 * In that process: none of our files stays open but these two (-1: no such one), and there is
 * nothing behind the standard three. SIGCONT comes when its parent ends: stopped together with it,
 * it would not hear of that.
 */
void stand_apart(int a, int b);

#endif
