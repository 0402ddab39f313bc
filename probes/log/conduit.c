#include "probes/log/conduit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

/* It is no longer closed at the end of its scope. */
static int keep(int *fd)
{
	int kept = *fd;

	*fd = -1;
	return kept;
}

static bool open_terminal(struct conduit *c, int fd)
{
	AUTO_CLOSE int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	AUTO_CLOSE int theirs = -1;
	struct termios plain;
	char name[64];

	if (ours < 0 || grantpt(ours) || unlockpt(ours) || ptsname_r(ours, name, sizeof(name)))
		return false;
	theirs = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (theirs < 0 || tcgetattr(theirs, &plain))
		return false;
	cfmakeraw(&plain); /* ours is where newlines are made into what a terminal wants */
	if (tcsetattr(theirs, TCSANOW, &plain))
		return false;
	*c = (struct conduit){.ours = keep(&ours), .theirs = keep(&theirs), .is_terminal = true};
	(void)conduit_resize(c, fd);
	return true;
}

int conduit_open(struct conduit *c, int fd, struct err *e)
{
	int end[2];

	if (isatty(fd) && open_terminal(c, fd))
		return 0;
	if (pipe2(end, O_CLOEXEC))
		return err_sys(e, "cannot make a pipe");
	*c = (struct conduit){.ours = end[0], .theirs = end[1]};
	return 0;
}

bool conduit_resize(const struct conduit *c, int fd)
{
	struct winsize is, was;

	if (!c->is_terminal || ioctl(fd, TIOCGWINSZ, &is) || ioctl(c->ours, TIOCGWINSZ, &was) ||
	    (is.ws_row == was.ws_row && is.ws_col == was.ws_col))
		return false;
	return ioctl(c->ours, TIOCSWINSZ, &is) == 0;
}

bool conduit_is_one(int fd, int other)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}
