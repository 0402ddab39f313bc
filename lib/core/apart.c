#include "lib/core/apart.h"

#include "lib/core/compat.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

/* Where a bare root folder has no /dev: the end of a pipe that nobody writes to, and that cannot be
 * written to. */
int open_nothing(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), ends[2];

	if (fd >= 0 || pipe2(ends, O_CLOEXEC))
		return fd;
	(void)close(ends[1]);
	return ends[0];
}

void stand_apart(int a, int b)
{
	int nothing;

	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
	close_fds_but(a, b); /* first: where there are no descriptors left, either */
	nothing = open_nothing();
	for (int fd = 0; nothing >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(nothing, fd);
	if (nothing > STDERR_FILENO)
		(void)close(nothing);
}
