#include "lib/core/aside.h"

#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { FAILED = 3, LOOKS = 100, LOOK_MS = 10 };

void aside_say(int to, const void *record, size_t n)
{
	uint32_t length = (uint32_t)n;

	if (!n || n > ASIDE_MAX || file_write_all(to, (const char *)&length, sizeof(length)) ||
	    file_write_all(to, record, n))
		_exit(FAILED);
}

static void __attribute__((noreturn)) be_child(const struct aside *s, int to, pid_t parent)
{
	static const int usual[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM};

	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		(void)signal(usual[i], SIG_DFL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(FAILED);
	s->work(to, s->arg);
	_exit(0);
}

/* Whole records out of what has come; false: that is no record. */
static bool hand_over(const struct aside *s, char *buf, size_t *n)
{
	uint32_t length;
	size_t at = 0;

	while (*n - at >= sizeof(length)) {
		memcpy(&length, buf + at, sizeof(length));
		if (!length || length > ASIDE_MAX)
			return false;
		if (*n - at - sizeof(length) < length)
			break;
		s->take(s->arg, buf + at + sizeof(length), length);
		at += sizeof(length) + length;
	}
	memmove(buf, buf + at, *n - at);
	*n -= at;
	return true;
}

/* Waits for bytes: 1 there are, 0 the deadline, -1 an interrupt. */
static int await(int fd, uint64_t until)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (int ms; !interrupt_pending() && (ms = ms_until(until));) {
		int rc = poll(&p, 1, ms);

		if (rc > 0)
			return 1;
		if (rc < 0 && errno != EINTR)
			return 0;
	}
	return interrupt_pending() ? -1 : 0;
}

static enum aside_end listen_to(const struct aside *s, int fd, char *buf)
{
	const size_t room = sizeof(uint32_t) + ASIDE_MAX;
	size_t n = 0;

	for (;;) {
		int ready = await(fd, now_ns() + s->deadline_ns);
		ssize_t got;

		if (ready <= 0)
			return ready ? ASIDE_INTERRUPTED : ASIDE_SILENT;
		got = read(fd, buf + n, room - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? ASIDE_DIED : ASIDE_DONE;
		n += (size_t)got;
		if (!hand_over(s, buf, &n))
			return ASIDE_DIED;
	}
}

/*
 * Did it end by itself and well? One that cannot even be killed is left to init; of those that
 * have closed their pipe it is in the kernel, which gives its GPUs back, and nothing is wrong.
 */
static bool bury(pid_t pid, bool at_once)
{
	int st = 0;

	if (at_once)
		(void)kill(pid, SIGKILL);
	for (int i = 0; i < LOOKS; i++) {
		pid_t ended = waitpid(pid, &st, WNOHANG);

		if (ended == pid)
			return WIFEXITED(st) && !WEXITSTATUS(st);
		if (ended < 0 && errno != EINTR)
			return false;
		(void)poll(NULL, 0, i < LOOKS / 2 ? 1 : LOOK_MS);
		if (i == LOOKS / 2)
			(void)kill(pid, SIGKILL); /* its pipe is closed, but it goes on */
	}
	return !at_once;
}

enum aside_end aside_run(const struct aside *s)
{
	AUTO_FREE char *buf = malloc(sizeof(uint32_t) + ASIDE_MAX);
	enum aside_end end;
	pid_t parent = getpid(), pid;
	int fds[2];

	if (!buf || pipe2(fds, O_CLOEXEC))
		return ASIDE_NONE;
	pid = fork();
	if (!pid) {
		(void)close(fds[0]);
		be_child(s, fds[1], parent);
	}
	(void)close(fds[1]);
	end = pid < 0 ? ASIDE_NONE : listen_to(s, fds[0], buf);
	(void)close(fds[0]);
	if (pid > 0 && !bury(pid, end != ASIDE_DONE) && end == ASIDE_DONE)
		end = ASIDE_DIED;
	return end;
}
