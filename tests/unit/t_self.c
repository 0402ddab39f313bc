/* The file of the running program, and the descriptors that it has open; each case in a process
 * of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "lib/core/compat.h"
#include "lib/core/plugin.h"
#include "lib/core/self.h"
#include "tests/unit/apart.h"

enum { SKIP = 77, HIGH = 300, LOW = 50, CALL = 436 /* close_range */ };

static char *self; /* this program */

static int ended(int (*body)(void))
{
	int code = apart(body);

	if (code == SKIP)
		skip();
	return code;
}

static bool says(const char *said, const char *want)
{
	if (said && streq(said, want))
		return true;
	fprintf(stderr, "'%s', not '%s'\n", said ? said : "nothing", want);
	return false;
}

static int where_it_is(void)
{
	AUTO(arena_done) struct arena a = {0};
	const char *slash = strrchr(self, '/');
	const char *beside = arena_printf(&a, "%.*s/other", (int)(slash - self), self);

	return !says(self_path(&a), self) || !says(self_beside(&a, "other"), beside) ||
	       !says(self_as_root(&a, "other"), arena_printf(&a, "sudo %s", beside)) ||
	       !says(self_as_root(&a, "env"), "sudo env"); /* which sudo finds */
}

static void test_path(void **state)
{
	(void)state;
	assert_int_equal(ended(where_it_is), 0);
}

static bool hide_proc(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", "/proc", "tmpfs", 0, NULL);
}

static int without_proc(void) { return hide_proc() ? where_it_is() : SKIP; }

static void test_no_proc(void **state)
{
	(void)state;
	assert_int_equal(ended(without_proc), 0);
}

/* Called with --replaced: a newer file has taken the place of the one that runs. */
static int replaced(void)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE char *path = realpath("/proc/self/exe", NULL);
	const char *other = arena_printf(&a, "%s.new", path);
	int fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);

	if (fd < 0 || rename(other, path))
		return 1;
	/* in a folder as --copy-self makes them */
	return !says(self_path(&a), path) || self_as_root(&a, "portcheck");
}

/* Called with --gone: nothing says where the program is, so it loads nothing from around here. */
static int gone(void)
{
	const struct plugin_want want = {"no-such", "symbol", 1, "package", "what"};
	AUTO(arena_done) struct arena a = {0};
	AUTO_FREE char *path = realpath("/proc/self/exe", NULL);
	struct err e = {0};

	if (unlink(path) || !hide_proc())
		return SKIP;
	if (self_path(&a) || plugin_load(&want, &a, &e))
		return 1;
	return !strstr(e.msg, "(looked in /");
}

static int run_copy(const char *how)
{
	char dir[] = "/tmp/windsock.XXXXXX", line[PATH_MAX * 2 + 99];

	if (!mkdtemp(dir))
		return SKIP;
	snprintf(line, sizeof(line), "cp %s %s/t && %s/t %s; code=$?; rm -r %s; exit $code", self,
		 dir, dir, how, dir);
	return WEXITSTATUS(system(line));
}

static int run_replaced(void) { return run_copy("--replaced"); }
static int run_gone(void) { return run_copy("--gone"); }

static void test_replaced(void **state)
{
	(void)state;
	assert_int_equal(ended(run_replaced), 0);
}

static void test_gone(void **state)
{
	(void)state;
	unsetenv("WINDSOCK_PLUGINS");
	assert_int_equal(ended(run_gone), 0);
}

static int forbid_close_range(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_LEN(code), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* What is open is closed, wherever the limit is now, and what is outside the range is not. */
static int close_some(void)
{
	struct rlimit low = {LOW, HIGH + 1};

	if (dup2(2, HIGH) < 0 || dup2(2, 3) < 0 || dup2(2, 5) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &low) || forbid_close_range())
		return SKIP;
	close_fds(4, ~0u);
	if (fcntl(3, F_GETFD) < 0)
		return 1;
	if (fcntl(5, F_GETFD) >= 0 || fcntl(HIGH, F_GETFD) >= 0)
		return 2;
	return 0;
}

static void test_close(void **state)
{
	(void)state;
	assert_int_equal(ended(close_some), 0);
}

static int close_without_proc(void) { return hide_proc() ? close_some() : SKIP; }

static void test_close_no_proc(void **state)
{
	(void)state;
	assert_int_equal(ended(close_without_proc), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),	 cmocka_unit_test(test_no_proc),
		cmocka_unit_test(test_replaced), cmocka_unit_test(test_gone),
		cmocka_unit_test(test_close),	 cmocka_unit_test(test_close_no_proc),
	};

	if (argc > 1 && streq(argv[1], "--replaced"))
		return replaced();
	if (argc > 1 && streq(argv[1], "--gone"))
		return gone();
	self = realpath("/proc/self/exe", NULL);
	return cmocka_run_group_tests_name("self", tests, NULL, NULL);
}
