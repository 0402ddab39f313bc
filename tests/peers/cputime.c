/*
 * cputime: what commands cost, side by side.
 *
 *	cputime ROUNDS -- CMD... -- CMD... [-- CMD...]
 *
 * Runs the commands in turn, ROUNDS times, so that a busy moment of the
 * machine hits all of them, and prints one line per command: the median of
 * its user+sys time in microseconds, the lowest, and its peak memory in KiB.
 * Their output goes to /dev/null. Exit 1 when one of them could not be
 * started or was killed; what they exit with is not looked at.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MOST = 8, MOST_ROUNDS = 100000 };

struct command {
	char **argv;
	long *us; /* one per round */
	long peak_kib;
};

static posix_spawn_file_actions_t silent;

static int compare(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static int once(struct command *c, int round, char **env)
{
	struct rusage used;
	pid_t pid;
	int status;

	if (posix_spawnp(&pid, c->argv[0], &silent, NULL, c->argv, env) ||
	    wait4(pid, &status, 0, &used) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) == 127) {
		fprintf(stderr, "cputime: %s did not run\n", c->argv[0]);
		return -1;
	}
	c->us[round] = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L +
		       used.ru_utime.tv_usec + used.ru_stime.tv_usec;
	if (used.ru_maxrss > c->peak_kib)
		c->peak_kib = used.ru_maxrss;
	return 0;
}

/* Cuts argv at every "--"; the number of commands, or 0. */
static int cut(int argc, char **argv, struct command *ret)
{
	int n = 0;

	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		argv[i] = NULL;
		if (n == MOST || !argv[i + 1])
			return 0;
		ret[n++].argv = argv + i + 1;
	}
	return n;
}

int main(int argc, char **argv, char **env)
{
	struct command commands[MOST] = {0};
	long rounds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	int n = cut(argc, argv, commands);

	if (rounds < 1 || rounds > MOST_ROUNDS || !n) {
		fprintf(stderr, "usage: cputime ROUNDS -- CMD... -- CMD...\n");
		return 2;
	}
	posix_spawn_file_actions_init(&silent);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&silent, fd, "/dev/null", O_RDWR, 0);
	for (int c = 0; c < n; c++)
		commands[c].us = calloc((size_t)rounds, sizeof(long));
	for (int round = 0; round < rounds; round++)
		for (int c = 0; c < n; c++)
			if (once(&commands[c], round, env))
				return 1;
	for (int c = 0; c < n; c++) {
		qsort(commands[c].us, (size_t)rounds, sizeof(long), compare);
		printf("%ld %ld %ld\n", commands[c].us[rounds / 2], commands[c].us[0],
		       commands[c].peak_kib);
	}
	return 0;
}
