/* A loop that is in the allocator, in the loader and in waits nearly all the time is left
 * hundreds of times; each time all of them must still be usable, and so must the end. And
 * of the waits, that for a lock is not left. */
#include "bench/plugin/leave.h"

#include "lib/core/base.h"
#include "lib/core/units.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { TIMES = 300, CHUNKS = 64, LAST_WORD = 7 };

static sigjmp_buf way_out;
static volatile sig_atomic_t inside, over;

static void leave(int sig UNUSED, siginfo_t *info UNUSED, void *context)
{
	if (!inside || !leave_is_safe(context))
		return;
	inside = 0;
	siglongjmp(way_out, 1);
}

static void *disturb(void *owner)
{
	while (!over) {
		(void)pthread_kill(*(pthread_t *)owner, SIGUSR1);
		(void)poll(NULL, 0, 0);
	}
	return NULL;
}

/* Chunks too large for a thread's own cache, so that the arena's lock is taken for each. */
static void allocate(unsigned *seed)
{
	void *chunks[CHUNKS];

	for (size_t i = 0; i < CHUNKS; i++)
		chunks[i] = malloc(2048 + (size_t)rand_r(seed) % 4096);
	for (size_t i = 0; i < CHUNKS; i++)
		free(chunks[i]);
}

static void load(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);

	if (library)
		(void)dlclose(library);
}

/* Never comes back. */
static void keep_busy(unsigned *seed)
{
	for (;;) {
		allocate(seed);
		load();
		(void)sched_yield();
		(void)poll(NULL, 0, 0);
	}
}

/* Disturbed in the middle of all that, again and again. */
static void *be_left(void *arg)
{
	volatile unsigned times = 0;
	unsigned seed = 1;

	(void)sigsetjmp(way_out, 1);
	allocate(&seed);
	load();
	if (times++ < TIMES) {
		inside = 1;
		keep_busy(&seed);
	}
	over = 1;
	leave_for_good();
	return arg;
}

static void at_exit_of_a_library(void) { pause(); /* would wait for what was left */ }

static void child(void)
{
	struct sigaction on_leave = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO};
	pthread_t owner = pthread_self(), thread;

	(void)alarm(180); /* a sanitizer on a busy machine takes a minute */
	(void)atexit(at_exit_of_a_library);
	leave_prepare();
	(void)sigaction(SIGUSR1, &on_leave, NULL);
	if (!pthread_create(&thread, NULL, disturb, &owner))
		(void)be_left(NULL);
	(void)pthread_join(thread, NULL);
	(void)fputc('.', stdout); /* flushed at the end all the same */
	exit(LAST_WORD);
}

static void t_nothing_that_is_needed_stays_locked(void **state UNUSED)
{
	int status = 0, line[2];
	char said = 0;
	pid_t pid;

	assert_int_equal(pipe(line), 0);
	(void)fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		(void)dup2(line[1], STDOUT_FILENO);
		child();
	}
	(void)close(line[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), LAST_WORD);
	assert_int_equal(read(line[0], &said, 1), 1);
	assert_int_equal(said, '.');
	(void)close(line[0]);
}

/* --- waits --------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile sig_atomic_t asked, safe;
static int sleeper; /* its thread's number; written before the wait, read until it is seen */

static void look(int sig UNUSED, siginfo_t *info UNUSED, void *context)
{
	safe = safe + leave_is_safe(context);
	asked = asked + 1;
}

static void for_lock(void)
{
	(void)pthread_mutex_lock(&lock);
	(void)pthread_mutex_unlock(&lock);
}

static void for_condition(void)
{
	(void)pthread_mutex_lock(&own);
	while (!over)
		(void)pthread_cond_wait(&never, &own);
	(void)pthread_mutex_unlock(&own);
}

static void for_time(void)
{
	while (!over)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_sec = 1}, NULL);
}

static void for_sockets(void)
{
	while (!over)
		(void)select(0, NULL, NULL, NULL, &(struct timeval){.tv_sec = 1});
}

static void *wait_there(void *wait)
{
	__atomic_store_n(&sleeper, gettid(), __ATOMIC_RELEASE);
	(*(void (**)(void))wait)();
	return NULL;
}

/* Where it waits, then: nothing else that it does sleeps. */
static bool is_asleep(void)
{
	char path[64], line[256] = "";
	const char *state;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
		       __atomic_load_n(&sleeper, __ATOMIC_ACQUIRE));
	f = fopen(path, "re");
	if (!f)
		return false;
	(void)!fgets(line, sizeof(line), f);
	(void)fclose(f);
	state = strrchr(line, ')');
	return state && starts_with(state, ") S");
}

static void disturb_asleep(pthread_t thread)
{
	int before = asked;

	while (!is_asleep())
		(void)poll(NULL, 0, 1);
	(void)pthread_kill(thread, SIGUSR2);
	while (asked == before)
		(void)poll(NULL, 0, 1);
}

/* How often it was safe to leave @wait, of TRIES. */
static int safe_in(void (*wait)(void))
{
	enum { TRIES = 20 };
	pthread_t thread;

	asked = safe = over = 0;
	__atomic_store_n(&sleeper, 0, __ATOMIC_RELEASE);
	(void)pthread_mutex_lock(&lock);
	assert_int_equal(pthread_create(&thread, NULL, wait_there, &wait), 0);
	for (int i = 0; i < TRIES; i++)
		disturb_asleep(thread);
	over = 1;
	(void)pthread_mutex_unlock(&lock);
	(void)pthread_mutex_lock(&own);
	(void)pthread_cond_broadcast(&never);
	(void)pthread_mutex_unlock(&own);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return safe;
}

static void t_who_waits_for_a_lock_may_hold_another(void **state UNUSED)
{
	struct sigaction on_look = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};

	leave_prepare();
	assert_int_equal(sigaction(SIGUSR2, &on_look, NULL), 0);
	assert_int_equal(safe_in(for_lock), 0);
	assert_true(safe_in(for_condition) > 0);
	assert_true(safe_in(for_time) > 0);
	assert_true(safe_in(for_sockets) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_nothing_that_is_needed_stays_locked),
		cmocka_unit_test(t_who_waits_for_a_lock_may_hold_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
