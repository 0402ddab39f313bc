/*
 * For LD_PRELOAD: what a program starts by execvp() begins WINDSOCK_FAKE_EXEC milliseconds later,
 * as from a network's file system: time for a signal to come between.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
int execvpe(const char *file, char *const argv[], char *const env[]);

int execvp(const char *file, char *const argv[])
{
	const char *text = getenv("WINDSOCK_FAKE_EXEC");
	long ms = text ? strtol(text, NULL, 10) : 0;
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
	return execvpe(file, argv, environ);
}
