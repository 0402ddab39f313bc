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

/* It has answered, and a signal comes to who waits for its end. */
static void answer_and_disturb(void)
{
	const struct timespec while_it_waits = {.tv_nsec = 30000000};

	(void)close(0);
	(void)nanosleep(&while_it_waits, NULL);
	(void)kill(getppid(), SIGUSR1);
	(void)nanosleep(&while_it_waits, NULL);
}

/* In the place of libc's, for all of this program. */
int stat(const char *restrict path, struct stat *restrict st)
{
	sigset_t all;

	(void)memset(st, 0, sizeof(*st));
	if (asked)
		__atomic_add_fetch(asked, 1, __ATOMIC_RELAXED);
	if (strstr(path, "/late/"))
		answer_and_disturb();
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

static void ignore(int sig UNUSED) {}

static void t_signals_disturb_nobody(void **state)
{
	const struct sigaction sa = {.sa_handler = ignore};

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &sa, NULL), 0);
	assert_true(folder_answers("/late/me"));
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
		cmocka_unit_test(t_signals_disturb_nobody),
		cmocka_unit_test(t_none_is_left),
	};
	unsigned *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return 1;
	asked = shared;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
