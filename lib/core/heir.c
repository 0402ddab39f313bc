#include "lib/core/heir.h"

#include "lib/core/apart.h"
#include "lib/core/file.h"
#include "lib/core/lineage.h"
#include "lib/core/wait.h"

#include <signal.h>
#include <sys/prctl.h>

/* Who looks at it can tell whose it is: "heir-1234". */
static void name_of(pid_t parent, char ret[16]) { (void)snprintf(ret, 16, "heir-%d", (int)parent); }

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

pid_t heir_start(void (*then)(void *arg), void *arg, int keep)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;

	(void)sigfillset(&all); /* from its first moment on */
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (!pid) {
		char name[16];

		name_of(parent, name);
		(void)prctl(PR_SET_NAME, name);
		(void)setsid();
		stand_apart(keep, -1);
		if (keep >= 0)
			(void)dup2(keep, STDIN_FILENO);
		wait_for_end_of(parent);
		then(arg);
		_exit(0);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

bool heir_has_inherited(pid_t pid)
{
	AUTO(arena_done) struct arena a = {0};
	const char *is = file_line(&a, arena_printf(&a, "/proc/%d/comm", (int)pid));
	char waits[16];

	name_of(parent_of(&a, pid), waits);
	return is && starts_with(is, "heir-") && !streq(is, waits);
}

void heir_end(pid_t heir)
{
	if (heir <= 0)
		return;
	(void)kill(heir, SIGKILL);
	(void)wait_child(heir);
}
