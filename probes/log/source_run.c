/* A command whose words pass through us unchanged while we read along. */
#include "probes/log/source.h"

#include "lib/cluster/agent.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "probes/log/conduit.h"
#include "probes/log/relay.h"
#include "probes/log/start.h"
#include "probes/log/witness.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	HELD = 65536,
	STEP_MS = 200,
	LINGER_MS = 2000,
	GRACE_S = INTERRUPT_GRACE_S / 2, /* to end after the budget passed */
};

struct strand {
	struct conduit pipe; /* .ours: -1 when it has ended */
	int to, lost;	     /* errno, once what was said could not be written */
	char *held;	     /* HELD bytes, of which n from at on are still to be written */
	size_t at, n;
	struct why_stream s;
};

static void end(struct strand *c)
{
	auto_closep(&c->pipe.ours);
	c->pipe.ours = -1;
}

/* As much as goes without waiting for whoever reads it, who may never read on. Whoever stops
 * listening to us stops us as it would have stopped the command. */
static void pass(struct strand *c)
{
	size_t most = c->n < PIPE_BUF ? c->n : PIPE_BUF;
	ssize_t done = write(c->to, c->held + c->at, most);

	if (done > 0) {
		c->at += (size_t)done;
		c->n -= (size_t)done;
	} else if (done < 0 && errno == EPIPE) {
		c->n = 0;
		end(c);
	} else if (done < 0 && errno != EINTR && errno != EAGAIN) {
		c->lost = errno; /* a full disk ends no command by itself */
		c->n = 0;
	}
}

static void take(struct strand *c)
{
	ssize_t n = read(c->pipe.ours, c->held, HELD);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		end(c);
		return;
	}
	why_feed(&c->s, c->held, (size_t)n);
	c->at = 0;
	c->n = c->lost ? 0 : (size_t)n;
}

/* What is read next is written first. */
static struct pollfd awaited(const struct strand *c)
{
	if (c->n)
		return (struct pollfd){.fd = c->to, .events = POLLOUT};
	return (struct pollfd){.fd = c->pipe.ours, .events = POLLIN};
}

struct running {
	pid_t pid;
	int status;
	bool ended, stopped;
	uint64_t ended_ns, stopped_ns;
};

/* Our budget has passed, or we were told to end before the command began. It is asked to end; and
 * where the budget wants that and it does not, it is ended, with all that it started. */
static void stop(struct running *r)
{
	int sig = interrupt_pending();

	if (!sig)
		return;
	if (!r->stopped) {
		r->stopped = true;
		r->stopped_ns = now_ns();
		if (sig == SIGALRM)
			(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
		(void)kill(r->pid, sig == SIGALRM ? SIGTERM : sig);
	} else if (sig == SIGALRM && now_ns() - r->stopped_ns > GRACE_S * NS_PER_S) {
		(void)kill(r->pid, SIGKILL);
	}
}

static void look_after(struct running *r)
{
	siginfo_t end = {0};

	if (r->ended)
		return;
	stop(r);
	if (waitid(P_PID, (id_t)r->pid, &end, WEXITED | WNOHANG | WNOWAIT) || !end.si_pid)
		return;
	relay_ended();
	(void)waitpid(r->pid, &r->status, 0);
	r->ended = true;
	r->ended_ns = now_ns();
	if (interrupt_pending() != SIGALRM)
		return;
	witness_end(); /* it is ours, and would be reaped with the rest */
	agent_reap_all();
}

static void keep_size(const struct strand *c, size_t n, const struct running *r)
{
	bool changed = false;

	for (size_t i = 0; i < n; i++)
		changed |= c[i].pipe.ours >= 0 && conduit_resize(&c[i].pipe, c[i].to);
	if (changed && !r->ended)
		(void)kill(r->pid, SIGWINCH);
}

static bool is_open(const struct strand *c, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= c[i].pipe.ours >= 0 || c[i].n;
	return any;
}

/* It is no silence where somebody does not read what was said. */
static bool is_held(const struct strand *c, size_t n) { return c[0].n || c[n - 1].n; }

/* What the command says within that time is passed on. False: nothing came. */
static bool serve(struct strand *c, size_t n, int ms)
{
	struct pollfd p[2] = {{.fd = -1}, {.fd = -1}};

	for (size_t i = 0; i < n; i++)
		p[i] = awaited(&c[i]);
	if (poll(p, n, ms) <= 0)
		return is_held(c, n) && !interrupt_pending();
	for (size_t i = 0; i < n; i++)
		if (p[i].revents && c[i].n)
			pass(&c[i]);
		else if (p[i].revents)
			take(&c[i]);
	return true;
}

/* A command that is looked at. */
struct looked_at {
	struct strand *c;
	size_t n;
	struct running *r;
	bool spoke;
};

static bool serve_meanwhile(int ms, void *arg)
{
	struct looked_at *at = arg;

	at->spoke = serve(at->c, at->n, ms);
	look_after(at->r);
	keep_size(at->c, at->n, at->r);
	return !at->spoke && !at->r->ended && !interrupt_pending();
}

/* False: it spoke meanwhile. */
static bool is_quiet(struct why *w, struct looked_at *at, const struct source_watch *watch,
		     unsigned stalls)
{
	const struct source_command of = {at->r->pid, {serve_meanwhile, at}};

	at->spoke = false;
	watch->quiet(w, stalls, &of, watch->arg);
	return !at->spoke;
}

/* Until the command's output ends; what it left behind may hold that for a moment only. Who goes
 * on in silence is looked at again, each time after twice as long. */
static void attend(struct why *w, struct strand *c, size_t n, struct running *r,
		   const struct source_watch *watch)
{
	struct looked_at at = {.c = c, .n = n, .r = r};
	uint64_t last_ns = now_ns();
	unsigned stalls = 0; /* that were said, of this silence */

	while (is_open(c, n)) {
		if (serve(c, n, STEP_MS)) {
			last_ns = now_ns();
			stalls = 0;
		}
		look_after(r);
		keep_size(c, n, r);
		if (r->ended && now_ns() - r->ended_ns > LINGER_MS * NS_PER_MS &&
		    now_ns() - last_ns > LINGER_MS * NS_PER_MS)
			return;
		if (r->ended && relay_told())
			return;
		if (watch->stall_ns && now_ns() - last_ns >= watch->stall_ns << stalls &&
		    !is_quiet(w, &at, watch, ++stalls)) {
			last_ns = now_ns();
			stalls = 0;
		}
	}
	while (!r->ended) {
		look_after(r);
		if (!r->ended)
			(void)poll(NULL, 0, STEP_MS / 10);
	}
}

static int say_lost(const struct strand *c, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].lost) {
			errno = c[i].lost;
			return err_sys(e, "not all that the command said could be written");
		}
	return 0;
}

static void strands_done(struct strand *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		auto_closep(&c[i].pipe.ours);
		auto_closep(&c[i].pipe.theirs);
	}
}

int source_run(struct why *w, char *const *argv, int out_fd, int err_fd,
	       const struct source_watch *watch, int *ret_code, struct err *e)
{
	struct strand c[2] = {{.pipe = {-1, -1, false}, .to = out_fd},
			      {.pipe = {-1, -1, false}, .to = err_fd}};
	bool as_one = conduit_is_one(out_fd, err_fd);
	size_t n = as_one ? 1 : 2;
	struct started began = {.told = -1};
	struct running r = {0};
	struct relay relay;

	for (size_t i = 0; i < n; i++)
		if (conduit_open(&c[i].pipe, c[i].to, e))
			return strands_done(c, n), -1;
	if (start_command(argv, c[0].pipe.theirs, c[n - 1].pipe.theirs, &relay, &began, e))
		return strands_done(c, n), -1;
	r.pid = began.pid;
	for (size_t i = 0; i < n; i++) {
		c[i].held = arena_alloc(&w->a, HELD);
		auto_closep(&c[i].pipe.theirs);
		c[i].pipe.theirs = -1;
		why_open(&c[i].s, w, as_one ? "the output" : i ? "stderr" : "stdout");
	}
	attend(w, c, n, &r, watch);
	relay_done(&relay);
	for (size_t i = 0; i < n; i++)
		why_close(&c[i].s);
	strands_done(c, n);
	*ret_code = WIFSIGNALED(r.status) ? 128 + WTERMSIG(r.status) : WEXITSTATUS(r.status);
	return start_done(&began, argv, e) ? -1 : say_lost(c, n, e);
}
