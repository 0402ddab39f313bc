#include "bench/ranks/mpirun_guard.h"

#include "lib/core/heir.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

/* It gives its ranks a second, and a crowded machine gives it little. */
enum { PATIENCE_MS = 10000 };

/* Its pidfd is our stdin. */
static void end_it(void *arg)
{
	const pid_t mpirun = *(const pid_t *)arg;
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	if (!poll(&p, 1, 0)) { /* its number is still its own */
		(void)kill(mpirun, SIGTERM);
		(void)kill(mpirun, SIGCONT); /* a stopped one would not hear it */
	}
	if (!poll(&p, 1, PATIENCE_MS) && kill(-mpirun, SIGKILL))
		(void)kill(mpirun, SIGKILL);
}

pid_t mpirun_guard_start(pid_t mpirun)
{
	int pidfd = (int)syscall(SYS_pidfd_open, mpirun, 0);
	pid_t pid;

	if (pidfd < 0)
		return -1;
	pid = heir_start(end_it, &mpirun, pidfd);
	(void)close(pidfd);
	return pid;
}

void mpirun_guard_end(pid_t guard) { heir_end(guard); }
