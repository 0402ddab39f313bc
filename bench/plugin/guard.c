#include "bench/plugin/guard.h"

#include "bench/plugin/leave.h"
#include "lib/core/units.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf way_out;
static bool inside, at_any_price; /* the caller looks, its handler, the watching thread */
static const uint64_t PATIENCE_NS = 2 * NS_PER_S;

static bool is_set(const bool *state) { return __atomic_load_n(state, __ATOMIC_RELAXED); }

static void set(bool *state, bool on) { __atomic_store_n(state, on, __ATOMIC_RELAXED); }

static int leave_signal(void) { return SIGRTMIN + 5; }

static void leave(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	if (info->si_code != SI_TKILL || info->si_pid != getpid()) /* it is nobody else's to send */
		return;
	if (!is_set(&inside) || !(is_set(&at_any_price) || leave_is_safe(context)))
		return;
	set(&inside, false);
	siglongjmp(way_out, 1);
}

/* Until it was left: the signal may come where it must not be. */
static void fire(void *arg)
{
	uint64_t until = now_ns() + PATIENCE_NS;

	do {
		(void)pthread_kill(((struct guard *)arg)->owner, leave_signal());
		(void)poll(NULL, 0, 1);
		set(&at_any_price, now_ns() > until);
	} while (is_set(&inside));
}

int guard_start(struct guard *g, struct watch *watch, const struct comm_world *w,
		const char *library, struct err *e)
{
	struct sigaction on_leave = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO};

	set(&at_any_price, false);
	leave_prepare();
	if (sigaction(leave_signal(), &on_leave, NULL))
		return err_sys(e, "cannot watch over %s", library);
	*g = (struct guard){.watch = watch, .owner = pthread_self()};
	return watch_start(watch, w, fire, g, e);
}

static enum guard_end enter(struct guard *g, void (*call)(void *arg), void *arg)
{
	enum guard_end end = GUARD_NOT_BEGUN;

	set(&inside, true);
	if (!watch_cause(g->watch)) { /* else its signal may have come already */
		call(arg);
		end = GUARD_BACK;
	}
	set(&inside, false);
	watch_over(g->watch);
	return end;
}

enum guard_end guard_call(struct guard *g, uint64_t bytes, void (*call)(void *arg), void *arg)
{
	if (watch_cause(g->watch))
		return GUARD_NOT_BEGUN;
	watch_call(g->watch, bytes);
	if (!sigsetjmp(way_out, 1))
		return enter(g, call, arg);
	leave_for_good();
	return GUARD_LEFT;
}
