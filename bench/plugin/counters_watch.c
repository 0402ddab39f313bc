/* The process that reads error counters before and after a run. */
#include "bench/plugin/counters.h"

#include "bench/ranks/relay.h"
#include "lib/core/apart.h"
#include "lib/core/interrupt.h"
#include "lib/core/text.h"
#include "lib/core/units.h"
#include "lib/core/wait.h"
#include "lib/report/json.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* GPUs that no daemon keeps awake make NVML slow at first; a sick one makes it hang. */
static const uint64_t FIRST_NS = 30 * NS_PER_S, AGAIN_NS = 5 * NS_PER_S, ANSWER_NS = 10 * NS_PER_S;

/* Until it is asked, or until nobody is left who could. */
static bool is_asked(int fd)
{
	char c;
	ssize_t got;

	do
		got = read(fd, &c, 1);
	while (got < 0 && errno == EINTR);
	return got == 1;
}

static void answer(int fd, const char *text)
{
	for (size_t n = strlen(text), at = 0; at < n;) {
		ssize_t done = send(fd, text + at, n - at, MSG_NOSIGNAL);

		if (done < 0 && errno != EINTR)
			return;
		at += done > 0 ? (size_t)done : 0;
	}
}

static void __attribute__((noreturn)) watch(int fd, pid_t parent)
{
	counter_list before = {0}, after = {0};
	struct arena a = {0};
	char host[256] = "localhost", *text;

	stand_apart(fd, -1);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a library may hang it */
	if (getppid() != parent)
		_exit(0);
	(void)gethostname(host, sizeof(host) - 1);
	counters_read(&a, FIRST_NS, &before);
	if (!before.n || !is_asked(fd))
		_exit(0);
	counters_read(&a, AGAIN_NS, &after);
	text = cJSON_PrintUnformatted(counters_pack(&before, &after, host));
	if (text)
		answer(fd, text);
	_exit(0);
}

void counters_watch_begin(struct counter_watch *w)
{
	pid_t parent = getpid();
	int fds[2];

	*w = (struct counter_watch){0};
	if (!counters_may_be_here() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return;
	w->pid = fork();
	if (!w->pid)
		watch(fds[1], parent);
	(void)close(fds[1]);
	w->fd = fds[0];
	if (w->pid > 0)
		return;
	(void)close(w->fd);
	*w = (struct counter_watch){0};
}

/* All that comes until the other end is closed; NULL: it was not, in that time. */
static const char *hear(int fd, struct arena *a)
{
	uint64_t until = now_ns() + ANSWER_NS;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct text t;
	char buf[4096];

	text_init(&t, a);
	for (int ms; !interrupt_pending() && (ms = ms_until(until));) {
		ssize_t got;

		if (poll(&p, 1, ms) <= 0)
			continue;
		got = read(fd, buf, sizeof(buf));
		if (got <= 0)
			return t.s;
		text_addn(&t, buf, (size_t)got);
	}
	return NULL;
}

cJSON *counters_watch_end(struct counter_watch *w)
{
	AUTO(arena_done) struct arena a = {0};
	const char *text;
	cJSON *event;

	if (w->pid <= 0)
		return NULL;
	(void)send(w->fd, "", 1, MSG_NOSIGNAL);
	text = hear(w->fd, &a);
	(void)close(w->fd);
	(void)kill(w->pid, SIGKILL);
	(void)wait_child(w->pid);
	*w = (struct counter_watch){0};
	event = text && *text ? cJSON_Parse(text) : NULL;
	return event;
}
