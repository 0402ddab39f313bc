/* Whole files: what is refused, what is kept, and that no moment of damage exists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { KILLS = 200, WRITERS = 4, ROUNDS = 50, NOBODY = 65534 };

static char base[] = "/tmp/t_file.XXXXXX";
static struct arena a;
static struct err e;

static void put(const char *path, const char *text)
{
	AUTO_FILE FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fputs(text, f) >= 0, 1);
}

static void expect_text(const char *path, const char *want)
{
	char *got;
	size_t n;

	assert_int_equal(file_read(path, 64 << 20, &a, &got, &n, &e), 0);
	assert_int_equal(n, strlen(want));
	assert_string_equal(got, want);
}

static int replace(const char *path, const char *text)
{
	return file_replace(path, text, strlen(text), NULL, &e);
}

/* Names in the test's folder that only file_replace() makes. */
static int leftovers(void)
{
	DIR *d = opendir(".");
	int n = 0;

	assert_non_null(d);
	for (struct dirent *de; (de = readdir(d));)
		n += strstr(de->d_name, "windsock-new") != NULL;
	(void)closedir(d);
	return n;
}

static void expect_refused(const char *path, int want_errno)
{
	e = (struct err){0};
	errno = 0;
	assert_int_equal(replace(path, "new\n"), -1);
	assert_int_equal(errno, want_errno);
	assert_int_equal(e.kind, ERR_SYS);
	assert_non_null(strstr(e.msg, path));
	assert_int_not_equal(*e.hint, '\0');
	assert_int_equal(leftovers(), 0);
}

static int fresh_folder(void **state UNUSED)
{
	memcpy(base, "/tmp/t_file.XXXXXX", sizeof(base));
	return mkdtemp(base) && chmod(base, 0755) == 0 ? chdir(base) : -1;
}

static int remove_folder(void **state UNUSED)
{
	char *rm = arena_printf(&a, "rm -rf '%s'", base);
	int rc = chdir("/") || system(rm);

	arena_done(&a);
	return rc;
}

/* Runs @test in a child, since it changes who or where the process is. */
static void in_child(void (*test)(void))
{
	pid_t pid = fork();
	int st;

	assert_true(pid >= 0);
	if (!pid) {
		test();
		_exit(0); /* a failed assertion has ended the child by a signal or exit code */
	}
	assert_int_equal(waitpid(pid, &st, 0), pid);
	if (st)
		fail_msg("the child ended with %#x", (unsigned)st);
}
#define CHILD_ASSERT(truth)                                                                        \
	do {                                                                                       \
		if (!(truth)) {                                                                    \
			fprintf(stderr, "line %d: %s: %s (errno %d)\n", __LINE__, #truth, e.msg,   \
				errno);                                                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void reads_within_its_bound(void **state UNUSED)
{
	char *got;
	size_t n;

	put("f", "0123456789");
	assert_int_equal(file_read("f", 10, &a, &got, &n, &e), 0);
	assert_int_equal(n, 10);
	assert_int_equal(file_read("f", 9, &a, &got, &n, &e), -1);
	assert_int_equal(errno, EFBIG);
	assert_non_null(strstr(e.msg, "9 bytes"));
	put("empty", "");
	assert_int_equal(file_read("empty", 0, &a, &got, &n, &e), 0);
	assert_string_equal(got, "");
	/* says size 0 and has text all the same */
	assert_int_equal(file_read("/proc/self/status", 1 << 20, &a, &got, &n, &e), 0);
	assert_non_null(strstr(got, "Name:"));
	assert_int_equal(file_read("/proc/self/status", 16, &a, &got, &n, &e), -1);
}

static void refuses_what_is_no_file_and_never_blocks(void **state UNUSED)
{
	static const struct {
		const char *path;
		int want_errno;
	} rows[] = {{"pipe", EINVAL}, {"folder", EISDIR}, {"missing", ENOENT}, {"f/x", ENOTDIR}};
	char *got;
	size_t n;

	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(mkdir("folder", 0700), 0);
	put("f", "x");
	(void)alarm(10);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		e = (struct err){0};
		assert_int_equal(file_read(rows[i].path, 10, &a, &got, &n, &e), -1);
		assert_int_equal(errno, rows[i].want_errno);
		assert_int_equal(e.kind, ERR_SYS);
		assert_non_null(strstr(e.msg, rows[i].path));
	}
	assert_null(file_line(&a, "folder"));
	(void)file_line(&a, "pipe");
	(void)alarm(0);
}

static void a_line_is_trimmed(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{"9001\n", "9001"},    {"", ""},     {"up \t\r\nsecond\n", "up"}, {"x", "x"},
		{" lead \n", " lead"}, {"\n\n", ""},
	};
	AUTO_CLOSE int dir = open(".", O_RDONLY | O_DIRECTORY);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put("attr", rows[i][0]);
		assert_string_equal(file_line(&a, "attr"), rows[i][1]);
		assert_string_equal(file_line_at(&a, dir, "attr"), rows[i][1]);
	}
	assert_null(file_line(&a, "missing"));
}

static void keeps_mode_and_makes_new_ones_readable(void **state UNUSED)
{
	const struct file_replace_opts private = {.create_mode = 0600};
	mode_t before = umask(077);
	struct stat st;

	put("f", "old\n");
	assert_int_equal(chmod("f", 04751), 0);
	assert_int_equal(replace("f", "new\n"), 0);
	expect_text("f", "new\n");
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 04751);
	assert_int_equal(replace("made", "x"), 0);
	assert_int_equal(stat("made", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(file_replace("secret", "x", 1, &private, &e), 0);
	assert_int_equal(stat("secret", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(leftovers(), 0);
	(void)umask(before);
}

static void a_link_stays_a_link(void **state UNUSED)
{
	struct stat st;
	char to[64];

	assert_int_equal(mkdir("d", 0755), 0);
	put("d/real", "old\n");
	assert_int_equal(symlink("real", "d/one") | symlink("d/one", "two") |
				 symlink(arena_printf(&a, "%s/two", base), "three") |
				 symlink("d/nowhere", "dangling") | symlink("loop", "loop"),
			 0);
	assert_int_equal(replace("three", "new\n"), 0);
	expect_text("d/real", "new\n");
	assert_int_equal(readlink("three", to, sizeof(to)) > 0, 1);
	assert_int_equal(readlink("two", to, sizeof(to)), 5);
	assert_int_equal(lstat("d/real", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(replace("dangling", "born\n"), 0);
	expect_text("d/nowhere", "born\n");
	assert_int_equal(lstat("dangling", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	expect_refused("loop", ELOOP);
}

static void refuses_folders_pipes_and_missing_parents(void **state UNUSED)
{
	const struct file_replace_opts parents = {.make_parents = true};

	assert_int_equal(mkdir("folder", 0755) | mkfifo("pipe", 0600), 0);
	expect_refused("folder", EINVAL);
	expect_refused("folder/", EINVAL);
	expect_refused("pipe", EINVAL);
	expect_refused("/dev/null", EINVAL);
	expect_refused("no/such/file", ENOENT);
	assert_int_equal(file_replace("no/such/file", "x", 1, &parents, &e), 0);
	expect_text("no/such/file", "x");
}

static void a_large_file_is_replaced_whole(void **state UNUSED)
{
	size_t n = 10 << 20;
	AUTO_FREE char *big = malloc(n + 1);

	memset(big, 'x', n);
	big[n] = '\0';
	assert_int_equal(file_replace("f", big, n, NULL, &e), 0);
	expect_text("f", big);
}

static void full_or_read_only(void)
{
	static char big[256 << 10];

	CHILD_ASSERT(unshare(CLONE_NEWNS) == 0);
	CHILD_ASSERT(mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0);
	CHILD_ASSERT(mkdir("m", 0755) == 0);
	CHILD_ASSERT(mount("tmpfs", "m", "tmpfs", 0, "size=64k") == 0);
	CHILD_ASSERT(chdir("m") == 0 && replace("f", "old\n") == 0);
	CHILD_ASSERT(file_replace("f", big, sizeof(big), NULL, &e) == -1 && errno == ENOSPC);
	CHILD_ASSERT(strstr(e.hint, "df -h") && leftovers() == 0);
	CHILD_ASSERT(streq(file_line(&a, "f"), "old"));
	CHILD_ASSERT(mount("none", ".", "none", MS_REMOUNT | MS_RDONLY, NULL) == 0);
	CHILD_ASSERT(replace("f", "new\n") == -1 && errno == EROFS);
	CHILD_ASSERT(strstr(e.hint, "read-only") && streq(file_line(&a, "f"), "old"));
}

static void somebody_elses(void)
{
	CHILD_ASSERT(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
	CHILD_ASSERT(replace("open/theirs", "new\n") == -1 && errno == EPERM);
	CHILD_ASSERT(strstr(e.msg, "owner") && *e.hint && chdir("open") == 0 && leftovers() == 0);
	CHILD_ASSERT(streq(file_line(&a, "theirs"), "old"));
	CHILD_ASSERT(replace("../closed", "new\n") == -1 && errno == EACCES);
	CHILD_ASSERT(strstr(e.hint, "write permission"));
}

static void as_root_owner_full_disk_and_foreign_files(void **state UNUSED)
{
	struct stat st;

	if (geteuid() != 0) {
		print_message("needs root: owners and mounts were not tested\n");
		skip();
	}
	put("f", "old\n");
	assert_int_equal(chown("f", 12345, 54321), 0);
	assert_int_equal(replace("f", "new\n"), 0);
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 54321);
	assert_int_equal(mkdir("open", 0755) | chmod("open", 0777), 0);
	put("open/theirs", "old\n");
	put("closed", "old\n");
	in_child(somebody_elses);
	in_child(full_or_read_only);
}

static void a_failed_write_leaves_the_old_text(void **state UNUSED)
{
	struct rlimit small = {1000, RLIM_INFINITY}, before;
	static char big[5000];

	put("f", "old\n");
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(file_replace("f", big, sizeof(big), NULL, &e), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_text("f", "old\n");
	assert_int_equal(leftovers(), 0);
}

static void removes_what_a_killed_run_left(void **state UNUSED)
{
	put("f", "old\n");
	put(".f.windsock-new", "half of someth");
	assert_int_equal(replace("f", "new\n"), 0);
	expect_text("f", "new\n");
	assert_int_equal(leftovers(), 0);
	/* never writes through what somebody planted there */
	assert_int_equal(symlink("victim", ".f.windsock-new"), 0);
	put("victim", "untouched");
	assert_int_equal(replace("f", "newer\n"), 0);
	expect_text("victim", "untouched");
	expect_text("f", "newer\n");
	assert_int_equal(leftovers(), 0);
}

static void a_name_may_be_as_long_as_the_file_system_takes(void **state UNUSED)
{
	char name[NAME_MAX + 2] = "";

	memset(name, 'x', NAME_MAX);
	assert_int_equal(replace(name, "old\n"), 0);
	assert_int_equal(replace(name, "new\n"), 0);
	expect_text(name, "new\n");
	assert_int_equal(leftovers(), 0);
	name[NAME_MAX] = 'x';
	assert_int_equal(replace(name, "new\n"), -1);
}

static void waits_for_another_run(void **state UNUSED)
{
	int ready[2], st;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		int fd = open(".f.windsock-new", O_RDWR | O_CREAT, 0600);

		if (flock(fd, LOCK_EX) || write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)usleep(100000);
		_exit(rename(".f.windsock-new", "f"));
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(replace("f", "second\n"), 0);
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_int_equal(st, 0);
	expect_text("f", "second\n");
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static char *filled(char c, size_t n)
{
	char *s = arena_alloc(&a, n + 1);

	memset(s, c, n);
	return s;
}

static _Noreturn void replace_for_ever(const char *x, const char *y)
{
	for (;;)
		if (replace("f", x) || replace("f", y))
			_exit(1);
}

static void is_whole_after_any_kill(void **state UNUSED)
{
	const char *x = filled('x', 100 << 10), *y = filled('y', 60 << 10);
	unsigned seen_x = 0, seen_y = 0, seen_left = 0, seed = 20;

	assert_int_equal(replace("f", x), 0);
	/* A busy machine kills many before they began: later, until what this is about was hit. */
	for (int i = 0; i < KILLS || (i < 50 * KILLS && !(seen_x && seen_y && seen_left)); i++) {
		pid_t pid = fork();
		char *got;
		size_t n;
		int st;

		if (!pid)
			replace_for_ever(x, y);
		(void)usleep((unsigned)rand_r(&seed) % (5000 * (1 + (unsigned)i / KILLS)));
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &st, 0), pid);
		assert_true(WIFSIGNALED(st));
		assert_int_equal(file_read("f", 1 << 20, &a, &got, &n, &e), 0);
		assert_true(streq(got, x) || streq(got, y));
		seen_x += *got == 'x';
		seen_y += *got == 'y';
		assert_true(leftovers() <= 1);
		seen_left += (unsigned)leftovers();
	}
	assert_true(seen_x > 0 && seen_y > 0 && seen_left > 0);
	assert_int_equal(replace("f", "end\n"), 0);
	assert_int_equal(leftovers(), 0);
}

static void writers_never_mix(void **state UNUSED)
{
	const char *text[WRITERS];
	pid_t pid[WRITERS];
	int st;

	for (int w = 0; w < WRITERS; w++)
		text[w] = filled((char)('a' + w), 10000 + 7777 * (size_t)w);
	assert_int_equal(replace("f", text[0]), 0);
	for (int w = 0; w < WRITERS; w++) {
		pid[w] = fork();
		for (int i = 0; !pid[w] && i < ROUNDS; i++)
			if (replace("f", text[w]))
				_exit(1);
		if (!pid[w])
			_exit(0);
	}
	for (int w = 0; w < WRITERS;) {
		char *got;
		size_t n, k = 0;

		assert_int_equal(file_read("f", 1 << 20, &a, &got, &n, &e), 0);
		while (k < WRITERS && !streq(got, text[k]))
			k++;
		assert_int_not_equal(k, WRITERS);
		if (waitpid(pid[w], &st, WNOHANG) == pid[w]) {
			assert_int_equal(st, 0);
			w++;
		}
	}
	assert_int_equal(leftovers(), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_within_its_bound),
		TEST(refuses_what_is_no_file_and_never_blocks),
		TEST(a_line_is_trimmed),
		TEST(keeps_mode_and_makes_new_ones_readable),
		TEST(a_link_stays_a_link),
		TEST(refuses_folders_pipes_and_missing_parents),
		TEST(a_large_file_is_replaced_whole),
		TEST(as_root_owner_full_disk_and_foreign_files),
		TEST(a_failed_write_leaves_the_old_text),
		TEST(removes_what_a_killed_run_left),
		TEST(a_name_may_be_as_long_as_the_file_system_takes),
		TEST(waits_for_another_run),
		TEST(is_whole_after_any_kill),
		TEST(writers_never_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
