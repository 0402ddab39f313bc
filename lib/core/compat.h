#ifndef LIB_CORE_COMPAT_H
#define LIB_CORE_COMPAT_H
/*
 * What younger C libraries have and glibc 2.31 (Debian 11, Ubuntu 20.04, the
 * floor of what we ship) has not. Include it where one of these is called.
 */
#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 32)
/* "KILL" for SIGKILL; NULL for what has no name here. */
static inline const char *sigabbrev_np(int sig)
{
	static const char names[][8] = {
		[SIGHUP] = "HUP",   [SIGINT] = "INT",	[SIGQUIT] = "QUIT", [SIGILL] = "ILL",
		[SIGTRAP] = "TRAP", [SIGABRT] = "ABRT", [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
		[SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
		[SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGSTOP] = "STOP",
		[SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ", [SIGSYS] = "SYS",
	};

	return sig > 0 && (size_t)sig < sizeof(names) / sizeof(names[0]) && *names[sig] ? names[sig]
											: NULL;
}
#endif

/* Closes descriptors @first to @last. The call is Linux 5.9's and glibc 2.34's; RHEL 8 has
 * neither: there they are closed one by one. Those that are open, not those that may be: that is
 * a thousand million where Docker sets no limit. Without /proc, those below CLOSE_FDS_BLINDLY. */
enum { CLOSE_FDS_BLINDLY = 1 << 16 };
static inline void close_fds(unsigned first, unsigned last)
{
	struct dirent *d;
	DIR *all;

	if (first > last || syscall(436 /* close_range */, first, last, 0) == 0)
		return;
	all = opendir("/proc/self/fd");
	while (all && (d = readdir(all))) {
		unsigned long fd = strtoul(d->d_name, NULL, 10);

		if (*d->d_name != '.' && fd >= first && fd <= last && (int)fd != dirfd(all))
			(void)close((int)fd);
	}
	for (unsigned fd = first; !all && fd <= last && fd < CLOSE_FDS_BLINDLY; fd++)
		(void)close((int)fd);
	if (all)
		(void)closedir(all);
}

/* All but these two, and the standard three; -1: there is no such one. */
static inline void close_fds_but(int a, int b)
{
	unsigned from = 3;
	const int keep[] = {a < b ? a : b, a < b ? b : a};

	for (size_t i = 0; i < 2; i++) {
		if (keep[i] < (int)from)
			continue;
		close_fds(from, (unsigned)keep[i] - 1);
		from = (unsigned)keep[i] + 1;
	}
	close_fds(from, ~0u);
}

#endif
