#include "bench/plugin/watch.h"

#include "lib/core/units.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

enum { LOOK_MS = 50 };

static bool is_over(struct watch *w)
{
	uint64_t until = __atomic_load_n(&w->until_ns, __ATOMIC_ACQUIRE), next = until;

	if (!until || now_ns() <= until)
		return false;
	if (w->grants && w->grants(w->arg))
		next = now_ns() + w->deadline_ns;
	/* unless the call has come back meanwhile */
	return __atomic_compare_exchange_n(&w->until_ns, &until, next, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED) &&
	       next == until;
}

/* Is there a reason by now? */
static enum watch_cause look(struct watch *w, const struct pollfd *p)
{
	if (p[1].revents)
		return WATCH_ABORTED;
	if (p[2].revents || p[3].revents)
		return WATCH_STOPPED;
	return is_over(w) ? WATCH_DEADLINE : WATCH_NOTHING;
}

static void *run(void *arg)
{
	struct watch *w = arg;
	struct pollfd p[] = {{.fd = w->end_fd, .events = POLLIN},
			     {.fd = w->abort_fd, .events = POLLIN},
			     {.fd = w->stop_fds[0], .events = POLLIN},
			     {.fd = w->stop_fds[1], .events = POLLIN}};
	enum watch_cause cause = WATCH_NOTHING;

	while (!cause) {
		if (poll(p, ARRAY_LEN(p), LOOK_MS) < 0)
			continue;
		if (p[0].revents)
			return NULL;
		cause = look(w, p);
	}
	__atomic_store_n(&w->cause, (int)cause, __ATOMIC_RELEASE);
	w->fire(w->arg);
	return NULL;
}

int watch_start(struct watch *w, const struct comm_world *world, void (*fire)(void *arg), void *arg,
		struct err *e)
{
	sigset_t all, before;
	int error;

	*w = (struct watch){.fire = fire,
			    .arg = arg,
			    .deadline_ns = world->deadline_ns ? world->deadline_ns : 10 * NS_PER_S,
			    .stop_fds = {world->stop_fds[0], world->stop_fds[1]},
			    .abort_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			    .end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (w->abort_fd < 0 || w->end_fd < 0)
		return err_sys(e, "cannot watch over a communicator");
	(void)sigfillset(&all); /* signals are for the thread that the communicator belongs to */
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&w->thread, NULL, run, w);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->running = !error;
	return error ? err_set(e, ERR_SYS, "cannot start a thread: %s", strerror(error)) : 0;
}

static void ring(int fd)
{
	static const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

void watch_done(struct watch *w)
{
	if (!w->fire)
		return; /* never started */
	if (w->running) {
		ring(w->end_fd);
		(void)pthread_join(w->thread, NULL);
	}
	if (w->end_fd >= 0)
		(void)close(w->end_fd);
	if (w->abort_fd >= 0)
		(void)close(w->abort_fd);
	*w = (struct watch){0};
}

uint64_t watch_call(struct watch *w, uint64_t bytes)
{
	uint64_t most = w->deadline_ns + bytes * (NS_PER_S / COMM_LEAST_BYTES_PER_S);

	w->most_ns = most;
	__atomic_store_n(&w->until_ns, now_ns() + most, __ATOMIC_RELEASE);
	return most;
}

void watch_over(struct watch *w) { __atomic_store_n(&w->until_ns, 0, __ATOMIC_RELEASE); }

void watch_abort(struct watch *w, const char *reason)
{
	__atomic_store_n(&w->abort_reason, reason, __ATOMIC_RELEASE);
	ring(w->abort_fd);
}

enum watch_cause watch_cause(const struct watch *w)
{
	return (enum watch_cause)__atomic_load_n(&w->cause, __ATOMIC_ACQUIRE);
}

bool watch_explain(const struct watch *w, const char *what, struct err *e)
{
	const char *reason = __atomic_load_n(&w->abort_reason, __ATOMIC_ACQUIRE);

	switch (watch_cause(w)) {
	case WATCH_ABORTED:
		err_set(e, ERR_SYS, "%s was aborted: %s", what,
			reason ? reason : "no reason given");
		return true;
	case WATCH_STOPPED:
		err_set(e, ERR_SYS, "%s was stopped", what);
		return true;
	case WATCH_DEADLINE:
		plugin_check = "comm.progress";
		err_set(e, ERR_SYS, "%s did not finish within %.1f s", what,
			(double)w->most_ns / 1e9);
		err_hint(e, "a rank is stuck, or a network very slow: --deadline gives more time");
		return true;
	default:
		return false;
	}
}
