#include "bench/ranks/mpirun_guard.h"

#include "lib/core/compat.h"
#include "lib/core/wait.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* It gives its ranks a second, and a crowded machine gives it little. */
enum { PATIENCE_MS = 10000 };

/* As long as there is somebody to go on for. */
static void wait_for_end_of(pid_t parent)
{
	sigset_t cont;
	int sig;

	(void)sigemptyset(&cont);
	(void)sigaddset(&cont, SIGCONT);
	while (getppid() == parent)
		(void)sigwait(&cont, &sig);
}

static _Noreturn void guard(pid_t mpirun, int pidfd, pid_t parent)
{
	struct pollfd p = {.fd = dup2(pidfd, STDIN_FILENO), .events = POLLIN};

	(void)prctl(PR_SET_PDEATHSIG, SIGCONT); /* it may be stopped, too: this wakes it */
	close_fds(STDOUT_FILENO, ~0u);		/* nobody's pipe stays open because of us */
	wait_for_end_of(parent);
	if (!poll(&p, 1, 0)) { /* its number is still its own */
		(void)kill(mpirun, SIGTERM);
		(void)kill(mpirun, SIGCONT); /* a stopped one would not hear it */
	}
	if (!poll(&p, 1, PATIENCE_MS) && kill(-mpirun, SIGKILL))
		(void)kill(mpirun, SIGKILL);
	_exit(0);
}

pid_t mpirun_guard_start(pid_t mpirun)
{
	int pidfd = (int)syscall(SYS_pidfd_open, mpirun, 0);
	pid_t parent = getpid(), pid;
	sigset_t all, before;

	if (pidfd < 0)
		return -1;
	(void)sigfillset(&all); /* from its first moment on */
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	(void)fflush(NULL);
	pid = fork();
	if (!pid)
		guard(mpirun, pidfd, parent);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)close(pidfd);
	return pid;
}

void mpirun_guard_end(pid_t guard)
{
	if (guard <= 0)
		return;
	(void)kill(guard, SIGKILL);
	(void)wait_child(guard);
}
