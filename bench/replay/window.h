#ifndef BENCH_REPLAY_WINDOW_H
#define BENCH_REPLAY_WINDOW_H
/* What of a recording is done again: its step, where one repeats, else its end. Pure. */
#include "bench/replay/order.h"
#include "bench/replay/traffic.h"

/* @o has its levels; @at_ns: when each of its calls was, by the clock of its rank. Fills the moves
 * and steps of @t and the times of its kinds, and says in its notes what that leaves out. */
void window_find(const struct order *o, const int64_t *at_ns, struct traffic *t, struct arena *a);

#endif
