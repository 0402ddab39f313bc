#include "probes/log/witness.h"

#include "lib/core/compat.h"
#include "lib/core/units.h"
#include "lib/core/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>

enum {
	PATIENCE_MS = 80, /* whoever signals one process after the other needs a moment */
	ANSWER_MS = 1000, /* and the witness one to be run, on a busy machine */
	FRESH_MS = 2000,  /* an older word is of a signal that reached us only once with it */
};

struct word {
	int sig;
	uint64_t ns;
};

static int words = -1;
static pid_t witness;
static uint64_t seen_ns[_NSIG];

static _Noreturn void watch(const sigset_t *set, int to, pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int fd = 0; fd < 3; fd++)
		(void)close(fd); /* who reads what we write must see our end */
	while (getppid() == parent) {
		struct word w = {.sig = sigwaitinfo(set, NULL)};

		w.ns = now_ns();
		if (w.sig > 0 && write(to, &w, sizeof(w)) < 0 && errno == EPIPE)
			break;
	}
	_exit(0);
}

/* What was opened before it is marked close-on-exec, but it executes nothing. */
static void close_others(int keep)
{
	for (int fd = 3; fd < 64; fd++)
		if (fd != keep)
			(void)close(fd);
}

void witness_start(const sigset_t *set)
{
	sigset_t all = *set, was;
	pid_t parent = getpid();
	int end[2];

	memset(seen_ns, 0, sizeof(seen_ns));
	if (pipe2(end, O_CLOEXEC | O_NONBLOCK))
		return;
	(void)sigaddset(&all, SIGRTMAX); /* our question: it may come before it listens */
	(void)sigprocmask(SIG_BLOCK, &all, &was);
	witness = fork();
	if (witness == 0) {
		close_others(end[1]);
		watch(&all, end[1], parent);
	}
	(void)sigprocmask(SIG_SETMASK, &was, NULL);
	(void)close(end[1]);
	words = end[0];
	if (witness < 0)
		witness_end();
}

static bool is_fresh(int sig)
{
	bool yes = seen_ns[sig] && now_ns() - seen_ns[sig] < FRESH_MS * NS_PER_MS;

	if (yes)
		seen_ns[sig] = 0;
	return yes;
}

static void hear(void)
{
	struct word w;

	while (read(words, &w, sizeof(w)) == (ssize_t)sizeof(w))
		if (w.sig > 0 && w.sig < _NSIG)
			seen_ns[w.sig] = w.ns;
}

/* Until @sig is told of, or the time is over. */
static bool hear_of(int sig, unsigned patience_ms)
{
	uint64_t until = now_ns() + patience_ms * NS_PER_MS;

	for (;;) {
		struct pollfd p = {.fd = words, .events = POLLIN};
		uint64_t now;

		hear();
		if (is_fresh(sig))
			return true;
		now = now_ns();
		if (now >= until ||
		    (poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) < 0 && errno != EINTR))
			return false;
		if ((p.revents & (POLLHUP | POLLERR)) && !(p.revents & POLLIN))
			return false; /* it was ended by force */
	}
}

/* Of several signals that it has, it tells the one with the lowest number first: its answer to our
 * question comes after all that it was sent. */
bool witness_saw(int sig)
{
	if (words < 0)
		return false;
	if (hear_of(sig, PATIENCE_MS))
		return true;
	(void)kill(witness, SIGRTMAX);
	(void)hear_of(SIGRTMAX, ANSWER_MS);
	return is_fresh(sig);
}

void witness_end(void)
{
	if (words >= 0)
		(void)close(words);
	words = -1;
	if (witness > 0) {
		(void)kill(witness, SIGKILL);
		(void)wait_child(witness);
	}
	witness = 0;
}
