/* A process beside us lets go of all that is ours, also in a root folder without /dev. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

enum { CANNOT = 77, PATIENCE_MS = 10000 };

struct pipes {
	int said[2], until[2];
};

static int enter(const char *root)
{
	return chroot(root) && (unshare(CLONE_NEWUSER) || chroot(root));
}

/* Its exit code: 0 is well. */
static int beside(const struct pipes *p, const char *root)
{
	char c;

	if ((root && enter(root)) || dup2(p->said[1], 1) < 0 || dup2(p->said[1], 2) < 0)
		return CANNOT;
	(void)close(p->until[1]);
	stand_apart(p->until[0], -1);
	if (read(STDIN_FILENO, &c, 1) > 0 || fcntl(p->said[1], F_GETFD) >= 0)
		return 1;
	(void)!write(STDOUT_FILENO, "lost", 4);
	return read(p->until[0], &c, 1) ? 2 : 0;
}

static int lets_go(const char *root)
{
	struct pipes p;
	struct pollfd end = {.events = POLLIN};
	int status;
	char c;
	pid_t pid;

	assert_int_equal(pipe2(p.said, O_CLOEXEC) | pipe2(p.until, O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		_exit(beside(&p, root));
	(void)close(p.said[1]);
	(void)close(p.until[0]);
	end.fd = p.said[0];
	assert_int_equal(poll(&end, 1, PATIENCE_MS), 1); /* before it ends */
	assert_int_equal(read(p.said[0], &c, 1), 0);
	(void)close(p.until[1]);
	(void)close(p.said[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void nothing_of_ours_stays_open(void **state UNUSED) { assert_int_equal(lets_go(NULL), 0); }

static void nor_without_a_dev(void **state UNUSED)
{
	char root[] = "/tmp/windsock-apart.XXXXXX";
	int code;

	assert_non_null(mkdtemp(root));
	code = lets_go(root);
	assert_int_equal(rmdir(root), 0);
	if (code == CANNOT)
		skip();
	assert_int_equal(code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_of_ours_stays_open),
		cmocka_unit_test(nor_without_a_dev),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
