#include "lib/core/interrupt.h"

#include "lib/core/compat.h"
#include "lib/core/units.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/time.h>

/* Lock-free, so good in a handler; other threads of a rank look at it too. */
static atomic_int pending;
static volatile sig_atomic_t wake_fd = -1;
static uint64_t first_ns; /* written once, before pending is */
static uint64_t budget;
static bool is_end;
static char where[80]; /* " on HOST", if not here */
static sigset_t was_blocked;

static void wake(void)
{
	static const uint64_t one = 1;

	if (wake_fd >= 0)
		(void)!write(wake_fd, &one, sizeof(one));
}

/* timeout(1) and terminals signal the process and then its group: the same
 * wish twice within microseconds is not a second one. */
enum { ECHO_MS = 200 };

/* Whoever does not read us is no reason to stay. */
static void say_ended(const char *said, size_t n)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (poll(&p, 1, 0) > 0)
		(void)!write(STDERR_FILENO, said, n);
}

static void on_budget(void)
{
	static const char said[] = ": ended: it did not stop when its budget passed\n";
	const char *who = program_invocation_short_name;

	if (pending != SIGALRM)
		return;
	say_ended(who, strlen(who));
	say_ended(said, sizeof(said) - 1);
	_exit(3);
}

static void on_signal(int sig)
{
	int saved = errno;

	if (sig == SIGALRM)
		on_budget();
	if (!pending) {
		first_ns = now_ns();
		pending = sig;
		wake();
	} else if (sig != SIGALRM && now_ns() - first_ns > ECHO_MS * NS_PER_MS) {
		(void)signal(sig, SIG_DFL);
		(void)raise(sig);
	}
	errno = saved;
}

/* Restarting: a report being written must not break off. Waits in poll() end all the same. */
static void handle(int sig, void (*handler)(int sig))
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};

	(void)sigaction(sig, &sa, NULL);
}

/* Who started us may have it blocked (a supervisor that waits for signals), and we inherit that. */
static void hear(int sig)
{
	sigset_t one;

	handle(sig, on_signal);
	sigemptyset(&one);
	sigaddset(&one, sig);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* nohup asked for one to be ignored. */
static bool is_ignored(int sig)
{
	struct sigaction sa;

	return !sigaction(sig, NULL, &sa) && sa.sa_handler == SIG_IGN;
}

/* A file that may not grow (ulimit -f) is an error of write(), as a full disk is. Not ignored:
 * what we start has the signal as it was. */
static void on_full(int sig) { (void)sig; }

void interrupt_install(void)
{
	(void)sigprocmask(SIG_BLOCK, NULL, &was_blocked);
	/* SIGINT, too, where a script's & had it ignored: `kill -INT $!` is how it asks for the
	 * report, as of ping. */
	hear(SIGINT);
	hear(SIGTERM);
	if (!is_ignored(SIGHUP))
		hear(SIGHUP);
	if (!is_ignored(SIGXFSZ))
		handle(SIGXFSZ, on_full);
}

void interrupt_as_started(sigset_t *mask) { (void)sigorset(mask, mask, &was_blocked); }

void interrupt_budget(uint64_t budget_ns)
{
	struct itimerval t = {.it_interval.tv_sec = INTERRUPT_GRACE_S};
	uint64_t us = (budget_ns + 999) / 1000;

	if (!budget_ns)
		return;
	budget = budget_ns;
	t.it_value.tv_sec = (time_t)(us / 1000000);
	t.it_value.tv_usec = (suseconds_t)(us % 1000000);
	hear(SIGALRM);
	(void)setitimer(ITIMER_REAL, &t, NULL);
}

/* No handler is ever installed for SIGPIPE, so it can stand for this. */
void interrupt_unread(void)
{
	if (pending)
		return;
	first_ns = now_ns();
	pending = SIGPIPE;
	wake();
}

void interrupt_elsewhere(int sig, const char *host)
{
	if (pending)
		return;
	(void)snprintf(where, sizeof(where), " on %.70s", host);
	first_ns = now_ns();
	pending = sig;
	wake();
}

int interrupt_pending(void) { return pending; }
bool interrupt_by_budget(void) { return pending == SIGALRM; }

int interrupt_fd(void)
{
	if (wake_fd < 0) {
		wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		/* The signal may have come before there was anything to wake. */
		if (pending)
			wake();
	}
	return wake_fd;
}

bool interrupt_poll(int fd, short events, int ms)
{
	uint64_t until = now_ns() + (ms > 0 ? (uint64_t)ms * NS_PER_MS : 0);
	struct pollfd p[] = {{.fd = fd, .events = events},
			     {.fd = interrupt_fd(), .events = POLLIN}};

	for (int left; !interrupt_pending() && (left = ms < 0 ? -1 : ms_until(until));)
		if (poll(p, ARRAY_LEN(p), left) > 0 && p[0].revents)
			return true;
	return false;
}

void interrupt_is_end(void) { is_end = pending && !interrupt_by_budget(); }

int interrupt_err(struct err *e)
{
	struct unit_buf b;

	if (!pending || pending == SIGPIPE || is_end)
		return 0;
	if (!interrupt_by_budget())
		return err_set(e, ERR_SYS, "interrupted by SIG%s%s; what was finished is reported",
			       sigabbrev_np(pending), where);
	err_set(e, ERR_SYS, "interrupted: the budget of %s passed; what was finished is reported",
		format_duration(&b, budget));
	return err_hint(e, "give it longer with --budget, or ask for less");
}
