#ifndef TESTS_UNIT_APART_H
#define TESTS_UNIT_APART_H
/*
 * What changes a process for good (its limits, signals, root folder) is tried in a child. There
 * nothing may be asserted: @body says by its exit code how it went. Include it behind cmocka.h.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { APART_MAX_S = 20 };

/* How the child ended: its exit code, or minus its signal. */
static inline int apart(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(APART_MAX_S);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
