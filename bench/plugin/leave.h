#ifndef BENCH_PLUGIN_LEAVE_H
#define BENCH_PLUGIN_LEAVE_H
/*
 * Leaving a library's call that does not come back, by a jump from a signal handler.
 * Whoever is left may hold a lock that we need: the allocator's, the loader's. The next
 * free(), or exit(), would then wait for ever. So a call is left only where it holds none
 * of these: in the library's own code, or where libc waits (poll, recv, sched_yield ...),
 * but for a lock: who does may hold another one. Anywhere else the signal has to come
 * again a moment later.
 *
 *	leave_prepare();
 *	... in the handler:  if (leave_is_safe(context)) siglongjmp(...);
 *	... after the jump:  leave_for_good();
 */
#include <stdbool.h>

/* Before the first signal: where libc and the loader lie. */
void leave_prepare(void);
/* @context: the handler's third argument (SA_SIGINFO, without SA_RESTART). */
bool leave_is_safe(const void *context);
/* From now on exit() runs no library's destructors, which would meet what was left: its
 * threads, and locks that nobody gives back. What was written is flushed. */
void leave_for_good(void);

#endif
