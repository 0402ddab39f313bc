/* Folders of a file server that is dead, as a stat() of our own plays it: each is asked once,
 * however many there are, and whoever was sent to look is no zombie of ours. */
#include "lib/host/answers.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static unsigned *asked; /* shared with those that look */

/* In the place of libc's, for all of this program. */
int stat(const char *restrict path, struct stat *restrict st)
{
	sigset_t all;

	(void)memset(st, 0, sizeof(*st));
	if (asked)
		__atomic_add_fetch(asked, 1, __ATOMIC_RELAXED);
	if (!strstr(path, "/hung/"))
		return 0;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		(void)pause();
}

static void has_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void t_each_once(void **state)
{
	enum { MANY = 40 };
	char path[32];

	(void)state;
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < MANY; i++) {
			(void)snprintf(path, sizeof(path), "/well/%u", i);
			assert_true(folder_answers(path));
		}
	assert_int_equal(__atomic_load_n(asked, __ATOMIC_RELAXED), MANY);
	has_no_child();
}

static void t_none_is_left(void **state)
{
	unsigned before;

	(void)state;
	assert_false(folder_answers("/hung/me"));
	has_no_child();
	before = __atomic_load_n(asked, __ATOMIC_RELAXED);
	assert_false(folder_answers("/hung/me"));
	assert_int_equal(__atomic_load_n(asked, __ATOMIC_RELAXED), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_each_once),
		cmocka_unit_test(t_none_is_left),
	};
	unsigned *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return 1;
	asked = shared;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
