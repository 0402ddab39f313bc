/*
 * A way to a host is a program of others', with helpers of its own (a wrapper and its kubectl, an
 * ssh and its proxy), and the kernel tells only the one process of our end, which does not hear it
 * while it is stopped. A process beside us knows the groups of all ways and ends what is left.
 */
#include "lib/cluster/child_guard.h"

#include "lib/core/heir.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

enum { MOST = 1 << 14, PATIENCE_MS = 10000, STEP_MS = 10 };

/* Of this process: what it was forked from has another guard. */
static struct {
	pid_t owner, pid;
	volatile pid_t *groups; /* shared with the guard; 0: a free place */
	size_t n, next;
} own;

static size_t tell_all(int sig)
{
	size_t there = 0;

	for (size_t i = 0; i < MOST; i++)
		there += own.groups[i] && !kill(-own.groups[i], sig);
	return there;
}

static void end_all(void *arg UNUSED)
{
	size_t left = tell_all(SIGTERM);

	(void)tell_all(SIGCONT); /* a stopped one would not hear it */
	for (int ms = 0; left && ms < PATIENCE_MS; ms += STEP_MS) {
		(void)poll(NULL, 0, STEP_MS);
		left = tell_all(0);
	}
	if (left)
		(void)tell_all(SIGKILL);
}

static bool begin(void)
{
	const size_t bytes = MOST * sizeof(*own.groups);
	pid_t parent = getpid();
	void *groups;

	if (own.owner == parent && own.pid > 0)
		return true;
	groups = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (groups == MAP_FAILED)
		return false;
	if (own.groups)
		(void)munmap((void *)own.groups, bytes);
	own.groups = groups;
	own.n = own.next = 0;
	own.owner = parent;
	own.pid = heir_start(end_all, NULL, -1);
	return own.pid > 0;
}

volatile pid_t *child_guard_take(void)
{
	if (!begin())
		return NULL;
	for (size_t tries = 0; tries < MOST; tries++) {
		size_t at = own.next++ % MOST;

		if (own.groups[at])
			continue;
		own.n++;
		return &own.groups[at];
	}
	return NULL;
}

void child_guard_leave(volatile pid_t *place)
{
	if (!place || own.owner != getpid())
		return;
	*place = 0;
	if (--own.n)
		return;
	heir_end(own.pid);
	own.pid = 0;
}
