/* Signals and the budget as a state; each case in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>

#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "tests/unit/apart.h"

static bool readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n;

	/* The signal itself ends the first wait. */
	do
		n = poll(&p, 1, ms);
	while (n < 0);
	return n == 1 && (p.revents & POLLIN);
}

static int one_signal(void)
{
	struct err e = {0};
	int fd;

	interrupt_install();
	fd = interrupt_fd();
	if (interrupt_pending() || interrupt_err(&e) || readable(fd, 0))
		return 1;
	(void)raise(SIGTERM);
	if (interrupt_pending() != SIGTERM || !readable(fd, 1000) || !readable(fd, 0))
		return 2;
	if (!interrupt_err(&e) || e.kind != ERR_SYS || !strstr(e.msg, "SIGTERM"))
		return 3;
	return 0;
}

static int descriptor_comes_late(void)
{
	interrupt_install();
	(void)raise(SIGINT);
	return !readable(interrupt_fd(), 0);
}

static int second_signal(void)
{
	interrupt_install();
	(void)raise(SIGTERM);
	(void)usleep(300 * 1000);
	(void)raise(SIGINT);
	return 1;
}

/* Ends what loops, and who noticed says why; a Ctrl-C later still ends it the hard way. */
static int unread(void)
{
	struct err e = {0};

	interrupt_install();
	interrupt_unread();
	if (!interrupt_pending() || !readable(interrupt_fd(), 0) || interrupt_by_budget())
		return 1;
	if (interrupt_err(&e) || e.kind)
		return 2;
	(void)usleep(300 * 1000);
	(void)raise(SIGINT);
	return 3;
}

/* timeout(1) signals us and then our group. */
static int echoed_signal(void)
{
	interrupt_install();
	(void)raise(SIGTERM);
	(void)raise(SIGTERM);
	return interrupt_pending();
}

static int no_hangup(void)
{
	(void)signal(SIGHUP, SIG_IGN);
	interrupt_install();
	(void)raise(SIGHUP);
	return interrupt_pending();
}

static int was_blocked(void)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set, as_started;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		(void)sigaddset(&set, all[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	interrupt_install();
	(void)sigprocmask(SIG_BLOCK, NULL, &set);
	(void)sigemptyset(&as_started);
	interrupt_as_started(&as_started);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (sigismember(&set, all[i]) || !sigismember(&as_started, all[i]))
			return -1;
	(void)raise(SIGTERM);
	return interrupt_pending();
}

static int hangup(void)
{
	interrupt_install();
	(void)raise(SIGHUP);
	return interrupt_pending();
}

static int budget_passes(void)
{
	uint64_t started = now_ns();
	struct err e = {0};

	interrupt_install();
	interrupt_budget(50 * NS_PER_MS);
	if (!readable(interrupt_fd(), 10000) || now_ns() - started < 50 * NS_PER_MS)
		return 1;
	if (interrupt_pending() != SIGALRM || !interrupt_err(&e))
		return 2;
	return !strstr(e.msg, "budget of 50 ms") || !strstr(e.hint, "--budget");
}

static int no_budget(void)
{
	interrupt_install();
	interrupt_budget(0);
	return readable(interrupt_fd(), 30);
}

static int waits_are_ended(void)
{
	int p[2];

	interrupt_install();
	if (pipe(p) || interrupt_poll(p[0], POLLIN, 30) || interrupt_poll(-1, 0, 30) ||
	    !interrupt_poll(p[1], POLLOUT, -1))
		return 1;
	if (write(p[1], "x", 1) != 1 || !interrupt_poll(p[0], POLLIN, -1))
		return 2;
	interrupt_budget(50 * NS_PER_MS);
	if (interrupt_poll(-1, 0, -1) || interrupt_pending() != SIGALRM)
		return 3;
	return interrupt_poll(p[0], POLLIN, -1); /* what is there is not looked at any more */
}

static int reads_go_on(void)
{
	struct sigaction sa;

	interrupt_install();
	return sigaction(SIGINT, NULL, &sa) || !(sa.sa_flags & SA_RESTART);
}

static void every_case(void **state UNUSED)
{
	static const struct {
		const char *name;
		int (*body)(void);
		int want;
	} rows[] = {
		{"one signal", one_signal, 0},
		{"descriptor after the signal", descriptor_comes_late, 0},
		{"second signal", second_signal, -SIGINT},
		{"nobody reads", unread, -SIGINT},
		{"echoed signal", echoed_signal, SIGTERM},
		{"nohup", no_hangup, 0},
		{"hangup", hangup, SIGHUP},
		{"blocked", was_blocked, SIGTERM},
		{"budget", budget_passes, 0},
		{"no budget", no_budget, 0},
		{"waits", waits_are_ended, 0},
		{"restarting", reads_go_on, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int got = apart(rows[i].body);

		if (got != rows[i].want)
			fail_msg("%s: ended with %d, want %d", rows[i].name, got, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_case)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
