/* Files that settings name, on a file server that is dead, as a stat() and an access() of our own
 * play it: nobody but those that are sent to look does so, and it is said. */
#include "probes/rules/named_file.h"
#include "tests/unit/lint_bench.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static pid_t us;

static void hang_in(const char *path)
{
	sigset_t all;

	if (!strstr(path, "hung"))
		return;
	if (getpid() == us)
		fail_msg("%s was looked at", path);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		(void)pause();
}

/* In the place of libc's, for all of this program. */
int stat(const char *restrict path, struct stat *restrict st)
{
	hang_in(path);
	return fstatat(AT_FDCWD, path, st, 0);
}

int access(const char *path, int how)
{
	hang_in(path);
	return faccessat(AT_FDCWD, path, how, 0);
}

static void t_nobody_looks(void **state)
{
	struct arena a = {0};

	(void)state;
	assert_string_equal(named_file_unreadable(&a, "/hung/topo.xml"),
			    "lies in a folder that does not answer");
	assert_non_null(named_file_unwritable(&a, "/hung/topo.xml"));
	assert_null(named_file_no_folder(&a, "/hung/topo.xml"));
	/* a link that leads there */
	assert_string_equal(named_file_unreadable(&a, "/etc/hung.xml"),
			    "lies in a folder that does not answer");
	assert_non_null(named_file_unwritable(&a, "/etc/hung.xml"));
	arena_done(&a);
}

static void t_nor_for_advice(void **state)
{
	struct bench b = {0};
	const char *fix;

	(void)state;
	load(&b, "host n0\n");
	sysroot_set(NULL);
	set(&b, "NCCL_TOPO_DUMP_FILE", "/hung/topo.xml", CONF);
	assert_string_equal(check(&b, &fix), "lint.file:warn");
	assert_string_equal(fix, "sed -i '3s/^/#/' /etc/nccl.conf");
	composed_done(&b.c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_nobody_looks),
		cmocka_unit_test(t_nor_for_advice),
	};

	us = getpid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
