/* A command whose words pass through us unchanged while we read along. */
#include "probes/log/source.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { STEP_MS = 200, LINGER_MS = 2000 };

struct channel {
	int from, to;
	struct why_stream s;
};

struct pair {
	int fd[2];
};

static void pair_done(struct pair *p)
{
	auto_closep(&p->fd[0]);
	auto_closep(&p->fd[1]);
}

/* It stays in our process group: Ctrl-C on a terminal reaches both of us, as without us. */
static _Noreturn void become(char *const *argv, const struct pair *out, const struct pair *err)
{
	int code;

	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(out->fd[1], STDOUT_FILENO) >= 0 && dup2(err->fd[1], STDERR_FILENO) >= 0)
		(void)execvp(*argv, argv);
	code = errno == ENOENT ? 127 : 126;
	dprintf(STDERR_FILENO, "ncclwhy: cannot start %s: %s\n", *argv, strerror(errno));
	_exit(code);
}

static bool pass(int to, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(to, p, n);

		if (done < 0 && errno == EAGAIN) {
			struct pollfd room = {.fd = to, .events = POLLOUT};

			(void)poll(&room, 1, -1);
		} else if (done < 0 && errno != EINTR) {
			return false;
		}
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return true;
}

/* False at its end. Whoever stops listening to us stops us as it would have stopped the command. */
static bool pump(struct channel *c)
{
	char buf[65536];
	ssize_t n = read(c->from, buf, sizeof(buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n > 0 && pass(c->to, buf, (size_t)n)) {
		why_feed(&c->s, buf, (size_t)n);
		return true;
	}
	(void)close(c->from);
	c->from = -1;
	return false;
}

/* What the command would have got, had we not been there. Once. */
static void forward(pid_t pid, bool *done)
{
	int sig = interrupt_pending();

	if (!sig || *done)
		return;
	*done = true;
	if (sig != SIGINT || !isatty(STDIN_FILENO))
		(void)kill(pid, sig == SIGALRM ? SIGTERM : sig);
}

struct running {
	pid_t pid;
	int status;
	bool ended, forwarded;
	uint64_t ended_ns;
};

static void look_after(struct running *r)
{
	forward(r->pid, &r->forwarded);
	if (!r->ended && waitpid(r->pid, &r->status, WNOHANG) == r->pid) {
		r->ended = true;
		r->ended_ns = now_ns();
	}
}

/* Until both pipes end; what the command left behind may hold them for a moment only. */
static void attend(struct why *w, struct channel *c, struct running *r,
		   const struct source_watch *watch)
{
	uint64_t last_ns = now_ns();
	bool told = false;

	while (c[0].from >= 0 || c[1].from >= 0) {
		struct pollfd p[] = {{.fd = c[0].from, .events = POLLIN},
				     {.fd = c[1].from, .events = POLLIN}};

		if (poll(p, 2, STEP_MS) > 0) {
			last_ns = now_ns();
			told = false;
			for (int i = 0; i < 2; i++)
				if (p[i].revents)
					(void)pump(&c[i]);
		}
		look_after(r);
		if (r->ended && now_ns() - r->ended_ns > LINGER_MS * NS_PER_MS &&
		    now_ns() - last_ns > LINGER_MS * NS_PER_MS)
			return;
		if (!told && watch->stall_ns && now_ns() - last_ns >= watch->stall_ns) {
			told = true;
			watch->quiet(w, true, watch->arg);
		}
	}
	while (!r->ended) {
		look_after(r);
		if (!r->ended)
			(void)poll(NULL, 0, STEP_MS / 10);
	}
}

int source_run(struct why *w, char *const *argv, int out_fd, int err_fd,
	       const struct source_watch *watch, int *ret_code, struct err *e)
{
	AUTO(pair_done) struct pair out = {{-1, -1}}, err = {{-1, -1}};
	struct channel c[2];
	struct running r = {0};

	if (pipe2(out.fd, O_CLOEXEC) || pipe2(err.fd, O_CLOEXEC))
		return err_sys(e, "cannot make pipes for %s", *argv);
	(void)signal(SIGCHLD, SIG_DFL);
	r.pid = fork();
	if (r.pid < 0)
		return err_sys(e, "cannot start %s", *argv);
	if (r.pid == 0)
		become(argv, &out, &err);
	c[0] = (struct channel){.from = out.fd[0], .to = out_fd};
	c[1] = (struct channel){.from = err.fd[0], .to = err_fd};
	out.fd[0] = err.fd[0] = -1; /* the channels' now */
	pair_done(&out);
	pair_done(&err);
	out.fd[1] = err.fd[1] = -1;
	why_open(&c[0].s, w, "stdout");
	why_open(&c[1].s, w, "stderr");
	attend(w, c, &r, watch);
	for (int i = 0; i < 2; i++) {
		why_close(&c[i].s);
		auto_closep(&c[i].from);
	}
	*ret_code = WIFSIGNALED(r.status) ? 128 + WTERMSIG(r.status) : WEXITSTATUS(r.status);
	return 0;
}
