/*
 * For LD_PRELOAD: the wall clock of a program is off by as many seconds as the file
 * WINDSOCK_FAKE_CLOCK holds. Namespaces have no wall clock of their own, so this is how a
 * test gets a node whose clock is wrong; all other clocks stay as they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long off(void)
{
	const char *path = getenv("WINDSOCK_FAKE_CLOCK");
	FILE *in = path ? fopen(path, "re") : NULL;
	long seconds = 0;

	if (in && fscanf(in, "%ld", &seconds) != 1)
		seconds = 0;
	if (in)
		(void)fclose(in);
	return seconds;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	long rc = syscall(SYS_clock_gettime, id, t);

	if (!rc && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		t->tv_sec += off();
	return (int)rc;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
