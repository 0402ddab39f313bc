/*
 * One command on many "hosts", with a shell script in ssh's place: what comes
 * back, what is bounded, and that nothing is left running.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/fanout.h"
#include "lib/core/interrupt.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct arena a;
static struct err e;
static char dir[] = "/tmp/t_fanout.XXXXXX";

static int fresh_folder(void **state UNUSED)
{
	memcpy(dir, "/tmp/t_fanout.XXXXXX", sizeof(dir));
	return mkdtemp(dir) ? chdir(dir) : -1;
}

static int remove_folder(void **state UNUSED)
{
	int rc = chdir("/") || system(arena_printf(&a, "rm -rf '%s'", dir));

	arena_done(&a);
	return rc;
}

static host_list hosts(const char *expr)
{
	host_list l = {0};

	if (hostlist_parse(expr, &a, &l, &e) < 0)
		fail_msg("%s", e.msg);
	return l;
}

/* @script sees the host as $host and the remote command as $1. */
static struct fanout_result *run(const char *expr, const char *script, struct fanout_opts o)
{
	static const char *const argv[] = {"ifprobe", "--json", "it's", NULL};
	struct fanout_result *r = NULL;
	host_list l = hosts(expr);

	o.rsh = arena_printf(&a, "/bin/sh -c 'host=$0; %s'", script);
	if (fanout_run(&l, argv, &o, &a, &r, &e) < 0)
		fail_msg("%s", e.msg);
	return r;
}

static struct fanout_result *run_one(const char *script)
{
	return run("node1", script, (struct fanout_opts){0});
}

static void answers_come_in_host_order(void **state UNUSED)
{
	struct fanout_result *r = run(
		"n[3,1,2]", "sleep 0.0${host#n}; echo $host says $1; echo oops >&2; exit ${host#n}",
		(struct fanout_opts){0});
	static const char *const names[] = {"n3", "n1", "n2"};

	for (int i = 0; i < 3; i++) {
		assert_string_equal(r[i].host, names[i]);
		assert_string_equal(
			r[i].out,
			arena_printf(&a, "%s says ifprobe --json 'it'\\''s'\n", names[i]));
		assert_int_equal(r[i].out_n, strlen(r[i].out));
		assert_string_equal(r[i].err, "oops\n");
		assert_int_equal(r[i].exit_status, names[i][1] - '0');
		assert_true(r[i].started && !r[i].timed_out && !r[i].truncated);
		assert_null(r[i].trouble);
		assert_true(r[i].took_ns > 0);
	}
}

static void the_remote_shell_gets_our_words_back(void **state UNUSED)
{
	static const char *const argv[] = {"printf", "<%s>", "",      "a b", "$HOME", "'",
					   "*",	     "-n",   "a=b;c", "\n",  "~",     NULL};
	struct fanout_opts o = {.rsh = "sh -c 'sh -c \"$1\"'"};
	struct fanout_result *r;
	host_list l = hosts("x");

	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), 0);
	assert_string_equal(r->out, "<><a b><$HOME><'><*><-n><a=b;c><\n><~>");
}

static void says_why_there_was_no_answer(void **state UNUSED)
{
	static const struct {
		const char *script, *said;
	} rows[] = {
		{"exit 127", "ifprobe is not installed on node1"},
		{"echo cannot execute: Exec format error >&2; exit 126", "Exec format error"},
		{"echo ssh: connect to host node1 port 22: Connection refused >&2; exit 255",
		 "connection refused; start sshd"},
		{"echo ubuntu@node1: Permission denied \\(publickey\\). >&2; exit 255",
		 "is that the wrong user? USER@node1 names another"},
		{"echo Host key verification failed. >&2; exit 255", "not known here"},
		{"echo @ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! >&2; "
		 "echo Host key verification failed. >&2; exit 255",
		 "ssh-keygen -R"},
		{"echo ssh: Could not resolve hostname node1: x >&2; exit 255", "/etc/hosts"},
		{"echo ssh: connect to host node1 port 22: Connection timed out >&2; exit 255",
		 "no answer to ssh"},
		{"printf \"what\\033[2J\\n\\n\" >&2; exit 255", "255: what?[2J; try"},
		{"exit 255", "ended with exit code 255; try"},
		{"kill -9 $$", "killed by signal 9"},
		{"exit 3", NULL},
		{"exit 0", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *got = run_one(rows[i].script)->trouble;

		if (!rows[i].said != !got || (got && !strstr(got, rows[i].said)))
			fail_msg("%s: %s", rows[i].script, got);
		assert_true(!got || strstr(got, "node1"));
	}
}

static void an_unusable_rsh_is_said(void **state UNUSED)
{
	static const char *const argv[] = {"true", NULL};
	const char *path = arena_strdup(&a, getenv("PATH"));
	struct fanout_opts o = {.rsh = "/no/such/rsh -x"};
	struct fanout_result *r;
	host_list l = hosts("a,b,c");

	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), 0);
	for (int i = 0; i < 3; i++) {
		assert_false(r[i].started);
		assert_non_null(strstr(r[i].trouble, "/no/such/rsh: No such file"));
	}
	assert_int_equal(setenv("PATH", "/no/such", 1), 0);
	o.rsh = "ssh";
	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), 0);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_string_equal(r[2].fix, "sudo apt-get install -y openssh-client || sudo dnf install "
				      "-y openssh-clients   # from here");
	o.rsh = "ssh 'x";
	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	o.rsh = "  ";
	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), -1);
	o.rsh = NULL;
	assert_int_equal(setenv("WINDSOCK_RSH", "sh -c 'echo \"lab $0\"'", 1), 0);
	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), 0);
	assert_string_equal(r[2].out, "lab c\n");
	assert_int_equal(setenv("WINDSOCK_RSH", "sh -c 'exit 255' lab", 1), 0);
	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), 0);
	assert_string_equal(r[2].trouble, "cannot reach c: sh ended with exit code 255; try "
					  "`sh -c 'exit 255' lab c true` by hand");
	assert_int_equal(unsetenv("WINDSOCK_RSH"), 0);
}

static void by_default_it_is_a_careful_ssh(void **state UNUSED)
{
	static const char *const argv[] = {"ifprobe", "--json", NULL};
	static const char fake[] = "#!/bin/sh\necho \"$@\"\n";
	const char *path = arena_strdup(&a, getenv("PATH"));
	struct fanout_opts o = {.deadline_ns = 5 * NS_PER_S};
	struct fanout_result *r;
	host_list l = hosts("u@n1");
	FILE *f = fopen("ssh", "we");

	assert_non_null(f);
	assert_true(fputs(fake, f) >= 0);
	assert_int_equal(fclose(f) | chmod("ssh", 0700), 0);
	assert_int_equal(setenv("PATH", arena_printf(&a, "%s:%s", dir, path), 1), 0);
	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), 0);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_non_null(strstr(r->out, "BatchMode=yes"));
	assert_non_null(strstr(r->out, "ConnectTimeout=4"));
	assert_null(strstr(r->out, "HostKey")); /* never weaker than the user's own setting */
	assert_non_null(strstr(r->out, " u@n1 ifprobe --json\n"));
}

static bool alive(pid_t pid) { return kill(pid, 0) == 0; }

static pid_t pid_from(const char *text)
{
	pid_t pid = (pid_t)strtol(text, NULL, 10);

	assert_true(pid > 1);
	return pid;
}

/* Ended processes of foreign parents stay for a moment until init reaps them. */
static bool ends_soon(pid_t pid)
{
	for (int i = 0; i < 1000 && alive(pid); i++)
		(void)usleep(10000);
	return !alive(pid);
}

static void silence_has_a_deadline(void **state UNUSED)
{
	struct fanout_opts o = {.deadline_ns = NS_PER_S};
	/* deaf to SIGTERM, with a helper that is deaf too */
	struct fanout_result *r =
		run("n[1-2]",
		    "trap : TERM; (trap \"\" TERM; exec sleep 60) & echo $!; while :; do "
		    "sleep 1; done",
		    o);

	for (int i = 0; i < 2; i++) {
		assert_true(r[i].timed_out);
		assert_true(r[i].took_ns < 5 * NS_PER_S);
		assert_non_null(strstr(r[i].trouble, "said nothing for 1 s"));
		assert_true(ends_soon(pid_from(r[i].out)));
	}
	/* who keeps talking is not late */
	o.deadline_ns = 1500 * NS_PER_MS;
	r = run("n1", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done", o);
	assert_false(r->timed_out);
	assert_string_equal(r->out, "1\n2\n3\n4\n5\n6\n");
}

static void output_has_a_bound(void **state UNUSED)
{
	struct fanout_opts o = {.max_output = 1000, .deadline_ns = 30 * NS_PER_S};
	struct fanout_result *r;

	r = run("n1", "yes | head -c 300000; yes no | head -c 90000 >&2; echo last >&2", o);
	assert_true(r->truncated);
	assert_int_equal(r->out_n, 1000);
	assert_int_equal(strlen(r->err), 4096);
	assert_string_equal(r->err + 4096 - 5, "last\n");
	assert_int_equal(r->exit_status, 0);
	/* talking for ever is ended at once, on either stream, and is no silence */
	r = run("n[1-2]", "[ $host = n1 ] || exec >&2; exec yes", o);
	for (int i = 0; i < 2; i++)
		assert_true(r[i].endless && !r[i].timed_out && r[i].truncated == !i &&
			    strstr(r[i].trouble, "prints without end"));
}

static void a_pipe_held_open_does_not_hold_us(void **state UNUSED)
{
	struct fanout_result *r;
	uint64_t start = now_ns();

	/* as ssh with ControlPersist: something in its own session keeps stderr */
	r = run_one("setsid sleep 20 & echo $!");
	assert_true(now_ns() - start < 5 * NS_PER_S);
	assert_null(r->trouble);
	(void)kill(pid_from(r->out), SIGKILL);
}

struct seen {
	size_t calls, total;
	bool ordered;
};

static void count(const struct fanout_result *r, size_t finished, size_t total, void *arg)
{
	struct seen *s = arg;

	s->ordered &= finished == ++s->calls && r->took_ns > 0;
	s->total = total;
}

static void many_hosts_never_mean_many_processes(void **state UNUSED)
{
	static const char *const argv[] = {"true", NULL};
	/* each leaves a file while it runs and prints how many others it sees */
	struct seen s = {.ordered = true};
	struct fanout_opts o = {.parallel = 7,
				.rsh = "sh -c ': >$0; set -- n*; echo $#; rm $0'",
				.done = count,
				.arg = &s};
	struct fanout_result *r;
	host_list l = hosts("n[1-300]");

	assert_int_equal(fanout_run(&l, argv, &o, &a, &r, &e), 0);
	assert_true(s.ordered);
	assert_int_equal(s.calls, 300);
	assert_int_equal(s.total, 300);
	for (size_t i = 0; i < l.n; i++) {
		long n = strtol(r[i].out, NULL, 10);

		assert_true(n >= 1 && n <= 7);
	}
}

static void but_several_at_once(void **state UNUSED)
{
	/* each waits until it sees all three */
	struct fanout_result *r =
		run("n[1-3]",
		    ": >$host; i=0; while set -- n*; [ $# -lt 3 -a $i -lt 1000 ]; do "
		    "i=$((i+1)); sleep 0.01; done; echo $#",
		    (struct fanout_opts){0});

	for (int i = 0; i < 3; i++)
		assert_string_equal(r[i].out, "3\n");
}

/* Those that have @flags of FD_CLOEXEC, of the first 256. */
static size_t descriptors(int flags)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) == flags;
	return n;
}

static void leaks_no_descriptors(void **state UNUSED)
{
	size_t ours, inherited;

	(void)run_one("exit 0");
	ours = descriptors(FD_CLOEXEC);
	inherited = descriptors(0);
	(void)run("n[1-20]", "echo x", (struct fanout_opts){.parallel = 3});
	assert_int_equal(descriptors(FD_CLOEXEC), ours);
	assert_int_equal(descriptors(0), inherited);
	/* children see what we were started with, and the one that ls itself opens */
	assert_string_equal(run_one("readlink /proc/self/fd/0; ls /proc/self/fd | wc -l")->out,
			    arena_printf(&a, "/dev/null\n%zu\n", inherited + 1));
}

/* In a child: interrupt.h's state is one per process. */
static int interrupted_run(void)
{
	static const char *const argv[] = {"true", NULL};
	struct fanout_opts o = {.parallel = 2,
				.rsh = "sh -c 'echo $$ >$0; case $0 in n1) exit 0;; n3) "
				       "until [ -s n2 ]; do sleep 0.01; done; kill -INT $PPID;; "
				       "esac; exec sleep 60'"};
	struct fanout_result *r;
	host_list l = hosts("n[1-5]");
	bool right;

	interrupt_install();
	if (fanout_run(&l, argv, &o, &a, &r, &e) < 0)
		return 1;
	right = !r[0].interrupted && !r[0].trouble && r[0].exit_status == 0;
	for (int i = 1; i < 5; i++)
		right &= r[i].interrupted && r[i].trouble && r[i].started == (i < 3);
	return right ? 0 : 2;
}

static void ctrl_c_ends_all_and_keeps_what_was_done(void **state UNUSED)
{
	uint64_t start = now_ns();
	pid_t pid = fork();
	int st;

	if (!pid)
		_exit(interrupted_run());
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_int_equal(st, 0);
	assert_true(now_ns() - start < 5 * NS_PER_S);
	for (int i = 2; i < 4; i++) {
		char line[32] = "";
		AUTO_FILE FILE *f = fopen(arena_printf(&a, "n%d", i), "re");

		assert_non_null(f);
		assert_non_null(fgets(line, sizeof(line), f));
		assert_true(ends_soon(pid_from(line)));
	}
	assert_int_equal(access("n4", F_OK), -1);
}

static void nothing_outlives_a_kill_9(void **state UNUSED)
{
	pid_t pid = fork();
	char line[32] = "";
	FILE *f = NULL;

	if (!pid) {
		(void)run_one("echo $$ >pid.new; mv pid.new pid; exec sleep 60");
		_exit(1);
	}
	for (int i = 0; i < 2000 && !(f = fopen("pid", "re")); i++)
		(void)usleep(10000);
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	(void)fclose(f);
	assert_true(alive(pid_from(line)));
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	assert_true(ends_soon(pid_from(line)));
}

/* Kernels before 5.3, played by a filter on the system call. */
static void works_without_pidfd(void **state UNUSED)
{
	struct sock_filter refuse[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = {ARRAY_LEN(refuse), refuse};
	pid_t pid = fork();
	int st;

	if (!pid) {
		struct fanout_result *r;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
			_exit(77);
		(void)signal(SIGCHLD, SIG_IGN); /* as some parents leave it */
		r = run("n[1-3]", "echo $host; [ $host = n2 ] && exec sleep 60; exit 5",
			(struct fanout_opts){.deadline_ns = 2 * NS_PER_S});
		_exit(!(streq(r[0].out, "n1\n") && r[0].exit_status == 5 && r[1].timed_out &&
			r[2].exit_status == 5));
	}
	assert_int_equal(waitpid(pid, &st, 0), pid);
	if (WEXITSTATUS(st) == 77)
		skip();
	assert_int_equal(st, 0);
}

static void splits_words_as_a_shell(void **state UNUSED)
{
	static const char *const want[] = {"ssh", "-p",	 "22", "-o", "Proxy Command=a \"b\" $c",
					   "",	  "x y", "\\n"};
	str_list got;

	assert_int_equal(split_words(" ssh\t-p 22 -o \"Proxy Command=a \\\"b\\\" \\$c\" '' x\\ y "
				     "'\\n'\n",
				     &a, &got, &e),
			 0);
	assert_int_equal(got.n, ARRAY_LEN(want));
	for (size_t i = 0; i < got.n; i++)
		assert_string_equal(got.v[i], want[i]);
	assert_int_equal(split_words("a \"b", &a, &got, &e), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh_folder, remove_folder)

/* For tests/lab/fanout.bats: t_fanout run DEADLINE_MS HOSTS CMD...; a line per host. */
static int run_for_bats(char **argv)
{
	struct fanout_opts o = {.deadline_ns = strtoull(argv[0], NULL, 10) * NS_PER_MS};
	struct fanout_result *r;
	host_list l;

	interrupt_install();
	if (hosts_from_arg(argv[1], &a, &l, &e) < 0 ||
	    fanout_run(&l, (const char *const *)(void *)(argv + 2), &o, &a, &r, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 3;
	}
	for (size_t i = 0; i < l.n; i++)
		printf("%s: %d '%.*s' %s\n", r[i].host, r[i].exit_status,
		       (int)strcspn(r[i].out, "\n"), r[i].out,
		       r[i].trouble ? r[i].trouble : "fine");
	arena_done(&a);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		/* first: later there is an eventfd, which a forked child would share */
		TEST(ctrl_c_ends_all_and_keeps_what_was_done),
		TEST(answers_come_in_host_order),
		TEST(the_remote_shell_gets_our_words_back),
		TEST(says_why_there_was_no_answer),
		TEST(an_unusable_rsh_is_said),
		TEST(by_default_it_is_a_careful_ssh),
		TEST(silence_has_a_deadline),
		TEST(output_has_a_bound),
		TEST(a_pipe_held_open_does_not_hold_us),
		TEST(many_hosts_never_mean_many_processes),
		TEST(but_several_at_once),
		TEST(leaks_no_descriptors),
		TEST(nothing_outlives_a_kill_9),
		TEST(works_without_pidfd),
		TEST(splits_words_as_a_shell),
	};

	if (argc > 4 && streq(argv[1], "run"))
		return run_for_bats(argv + 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
