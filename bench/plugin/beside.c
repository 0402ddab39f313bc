#include "bench/plugin/beside.h"

#include "bench/plugin/leave.h"
#include "lib/core/base.h"
#include "lib/core/units.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

struct beside { /* the thread's, where it does not come back in time */
	void (*call)(void *arg);
	void *arg;
	int back_fd;
};

static void *run(void *arg)
{
	static const uint64_t one = 1;
	struct beside *b = arg;

	b->call(b->arg);
	(void)!write(b->back_fd, &one, sizeof(one));
	return NULL;
}

static bool comes_back(int fd, uint64_t ns)
{
	uint64_t until = now_ns() + ns, now;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while ((now = now_ns()) < until)
		if (poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) > 0)
			return true;
	return false;
}

/* Signals are for the thread that waits. */
static int start(struct beside *b, pthread_t *ret)
{
	sigset_t all, before;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(ret, NULL, run, b);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

bool beside_call(void (*call)(void *arg), void *arg, uint64_t ns)
{
	struct beside *b = malloc(sizeof(*b));
	pthread_t thread;
	bool started = false;

	if (b) {
		*b = (struct beside){call, arg, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
		started = b->back_fd >= 0 && !start(b, &thread);
	}
	if (started && comes_back(b->back_fd, ns)) {
		(void)pthread_join(thread, NULL);
		(void)close(b->back_fd);
		free(b);
		return true;
	}
	if (started) {
		(void)pthread_detach(thread);
	} else if (b) {
		if (b->back_fd >= 0)
			(void)close(b->back_fd);
		free(b);
	}
	leave_for_good();
	return false;
}
