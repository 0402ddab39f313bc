/* Whoever has a child is killed, and it ends, too: before it has become a program, or while it
 * waits for somebody's answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/ranks/mpirun_child.h"
#include "lib/cluster/child.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/hostname.h"

int execvpe(const char *file, char *const argv[], char *const env[]);

enum { DELAY_MS = 1500, LONG_MS = 20000 };
static int there[2]; /* hears who has come so far */

static bool is_counting; /* what is executed counts its SIGTERMs */

static void linger_silently(long ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static void linger(long ms)
{
	pid_t me = getpid();

	(void)!write(there[1], &me, sizeof(me));
	linger_silently(ms);
}

/* Ours, in place of libc's: as from a network's file system, time for a signal to come between. */
int execvp(const char *file, char *const argv[])
{
	linger(DELAY_MS);
	return execvpe(file, argv, environ);
}

static volatile sig_atomic_t terms;
static void on_term(int sig UNUSED) { terms++; }

/* Of two SIGTERMs mpirun leaves all as it is. */
static _Noreturn void count_terms(void)
{
	(void)signal(SIGTERM, on_term);
	linger(0);
	while (!terms)
		linger_silently(1);
	linger_silently(500);
	_exit(terms);
}

int execv(const char *file, char *const argv[])
{
	if (is_counting)
		count_terms();
	linger(DELAY_MS);
	return execve(file, argv, environ);
}

/* A name server that is dead. */
int getaddrinfo(const char *name UNUSED, const char *service UNUSED,
		const struct addrinfo *hints UNUSED, struct addrinfo **ret UNUSED)
{
	linger(LONG_MS);
	return EAI_AGAIN;
}

static void start_child(void)
{
	char *const argv[] = {(char[]){"sleep"}, (char[]){"20"}, NULL};
	struct child c;
	struct err e;

	(void)!child_start(&c, argv, &e);
}

static void start_mpirun(void)
{
	static const char *const argv[] = {"/bin/sleep", "20", NULL};
	struct mpirun_child m = {0};
	struct err e;

	(void)!mpirun_child_start(&m, argv, STDOUT_FILENO, STDERR_FILENO, &e);
	(void)pause();
}

/* Its turn to end comes late. */
static void *stand_by(void *arg)
{
	(void)sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
	linger_silently(60000);
	return arg;
}

/* Of a process that dies the kernel sends what it owes to children once for each thread. */
static void start_mpirun_beside_thread(void)
{
	pthread_t t;

	(void)pthread_create(&t, NULL, stand_by, NULL);
	is_counting = true;
	start_mpirun();
}

static void ask_for_name(void)
{
	AUTO(arena_done) struct arena a = {0};
	struct name_answer got;

	name_resolve("nobody", 60 * NS_PER_S, &a, &got);
}

/* How the child ended whose parent was killed meanwhile; we are who inherits it. */
static int end_of_orphan(void (*start)(void))
{
	int status = 0;
	pid_t parent, it;

	assert_int_equal(pipe(there), 0);
	parent = fork();
	if (!parent) {
		interrupt_install();
		start();
		_exit(0);
	}
	assert_int_equal(read(there[0], &it, sizeof(it)), sizeof(it));
	(void)kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(waitpid(it, &status, 0), it);
	(void)close(there[0]);
	(void)close(there[1]);
	return status;
}

static void no_orphan_goes_on(void **state UNUSED)
{
	static const struct {
		void (*start)(void);
		int signal;
	} rows[] = {{start_child, SIGTERM}, {start_mpirun, SIGTERM}, {ask_for_name, SIGKILL}};

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int status = end_of_orphan(rows[i].start);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), rows[i].signal);
	}
	while (waitpid(-1, NULL, 0) > 0) /* mpirun's guard */
		;
}

static void start_way(void)
{
	/* stopped, as by a read from a terminal, beside a helper of its own */
	char *const argv[] = {(char[]){"sh"}, (char[]){"-c"},
			      (char[]){"sleep 30 & kill -STOP $$; wait"}, NULL};
	struct child c;
	struct err e;

	(void)!child_start_way(&c, argv, &e);
	(void)pause();
}

static void wait_until_stopped(pid_t it)
{
	/* it is no child of ours yet */
	for (char state = 0; state != 'T'; linger_silently(10)) {
		AUTO(arena_done) struct arena a = {0};
		const char *stat = file_line(&a, arena_printf(&a, "/proc/%d/stat", (int)it));

		assert_non_null(stat);
		state = strrchr(stat, ')')[2];
	}
}

/* Nothing of it, although it is stopped, and nobody else's process group is orphaned here: we are
 * of the same session, as the first process of a container is. */
static void no_way_stays_behind(void **state UNUSED)
{
	uint64_t began = now_ns();
	int status = 0, ended = 0;
	pid_t parent, it;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe(there), 0);
	parent = fork();
	if (!parent)
		start_way();
	assert_int_equal(read(there[0], &it, sizeof(it)), sizeof(it));
	assert_int_equal(getpgid(it), it);
	wait_until_stopped(it);
	(void)kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(waitpid(it, &status, 0), it);
	assert_true(WIFSIGNALED(status));
	while (waitpid(-1, NULL, 0) > 0) /* its helper, the guard */
		ended++;
	assert_int_equal(ended, 2);
	assert_true(now_ns() - began < 20 * NS_PER_S);
	(void)close(there[0]);
	(void)close(there[1]);
}

/* In a process whose terminal is a new one: 0 where a way, started there, has none. */
static int terminal_of_way(void)
{
	char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){": </dev/tty"}, NULL};
	int own = posix_openpt(O_RDWR | O_NOCTTY), status = -1, sig;
	struct child c;
	struct err e;

	if (setsid() < 0 || own < 0 || grantpt(own) || unlockpt(own) ||
	    open(ptsname(own), O_RDWR) < 0 || open("/dev/tty", O_RDWR) < 0 ||
	    child_start_way(&c, argv, &e))
		return 1;
	while (!child_ended(&c, &status, &sig))
		linger_silently(10);
	return status > 0 && open("/dev/tty", O_RDWR) >= 0 ? 0 : 2; /* ours is still there */
}

static void no_way_has_a_terminal(void **state UNUSED)
{
	pid_t it = fork();
	int status;

	if (!it)
		_exit(terminal_of_way());
	assert_int_equal(waitpid(it, &status, 0), it);
	assert_int_equal(status, 0);
}

static void mpirun_is_told_once(void **state UNUSED)
{
	cpu_set_t one, all;
	pid_t busy;
	int status;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int i = 0; !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	busy = fork();
	if (!busy)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!busy)
		;
	status = end_of_orphan(start_mpirun_beside_thread);
	(void)kill(busy, SIGKILL);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_orphan_goes_on), cmocka_unit_test(no_way_stays_behind),
		cmocka_unit_test(no_way_has_a_terminal), cmocka_unit_test(mpirun_is_told_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
