#ifndef BENCH_PLUGIN_BESIDE_H
#define BENCH_PLUGIN_BESIDE_H
/*
 * A library's call that is made once, at the end, and may never come back: a thread makes it,
 * and is left to it when its time is up. Unlike guard.h nothing has to be prepared, and the
 * call goes on: what it works with is its own from then on, and with the process it ends.
 */
#include <stdbool.h>
#include <stdint.h>

/* False: it did not come back within @ns, or no thread could make it. Then leave_for_good() was
 * called, and @arg has to stay as it is. */
bool beside_call(void (*call)(void *arg), void *arg, uint64_t ns);

#endif
