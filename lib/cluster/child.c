#include <sys/timerfd.h> /* brings <time.h>, which must come before base.h */

#include "lib/cluster/child.h"

#include "lib/cluster/child_guard.h"
#include "lib/core/apart.h"
#include "lib/core/compat.h"
#include "lib/core/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { TERM_PATIENCE_MS = 500, KILL_PATIENCE_MS = 500, STEP_MS = 5 };

struct pipes {
	int in[2], out[2], err[2], failed[2];
};
static const struct pipes no_pipes = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};

static void close_fd(int *fd)
{
	auto_closep(fd);
	*fd = -1;
}

static void pipes_done(struct pipes *p)
{
	int saved = errno, *fd = p->in;

	for (size_t i = 0; i < sizeof(*p) / sizeof(*fd); i++)
		close_fd(fd + i);
	errno = saved;
}

/* A session of its own would do it, too. But Linux gives each session its share of the processors
 * (autogroup): ranks that ways start on this machine, as in a lab, would have more than rank 0. */
static void leave_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)ioctl(fd, TIOCNOTTY);
	(void)close(fd);
}

/* In the child: tells the parent over @p->failed when there is nothing to become. */
static _Noreturn void become(char *const *argv, const struct pipes *p, pid_t parent, bool is_way,
			     volatile pid_t *guard)
{
	int in = p->in[0] >= 0 ? p->in[0] : open_nothing();
	sigset_t none;
	int why;

	(void)setpgid(0, 0);
	if (is_way)
		leave_terminal();
	if (guard)
		*guard = getpid();
	(void)signal(SIGTERM, SIG_DFL); /* our handler would take it, and the program begin */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127); /* it died before the line above: nobody would tell us */
	(void)signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (in >= 0 && dup2(in, 0) == 0 && dup2(p->out[1], 1) == 1 && dup2(p->err[1], 2) == 2)
		(void)execvp(*argv, argv);
	why = errno;
	(void)!write(p->failed[1], &why, sizeof(why));
	_exit(127);
}

static int exec_errno(struct pipes *p)
{
	int why = 0;
	ssize_t n;

	close_fd(&p->failed[1]);
	do
		n = read(p->failed[0], &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	return n == sizeof(why) ? why : 0;
}

/* Kernels before 5.3 have no pidfd, and containers older than that forbid what they do not know:
 * there, a clock that asks for a look a hundred times a second. */
static int open_exit_fd(pid_t pid)
{
	const struct itimerspec often = {{.tv_nsec = 10 * NS_PER_MS}, {.tv_nsec = 10 * NS_PER_MS}};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd >= 0)
		(void)timerfd_settime(fd, 0, &often, NULL);
	return fd;
}

/* The line has room in the pipe. */
static bool open_in(int in[2], const char *line)
{
	const ssize_t n = (ssize_t)strlen(line);

	return !pipe2(in, O_CLOEXEC) && write(in[1], line, (size_t)n) == n;
}

static int start(struct child *c, char *const *argv, bool is_way, const char *line, struct err *e)
{
	AUTO(pipes_done) struct pipes p = no_pipes;
	pid_t parent = getpid(), pid;
	int why;

	if ((line && !open_in(p.in, line)) || pipe2(p.out, O_CLOEXEC) || pipe2(p.err, O_CLOEXEC) ||
	    pipe2(p.failed, O_CLOEXEC) || fcntl(p.out[0], F_SETFL, O_NONBLOCK) ||
	    fcntl(p.err[0], F_SETFL, O_NONBLOCK))
		return err_fork(e, "cannot make pipes for %s", *argv);
	(void)signal(SIGCHLD,
		     SIG_DFL); /* started with it ignored we would never learn how it ended */
	/* fork() would copy the page tables of a launcher that holds ten thousand answers, each
	 * time. become() writes to no memory of ours. */
	pid = vfork();
	if (pid < 0)
		return err_fork(e, "cannot start %s", *argv);
	if (pid == 0)
		become(argv, &p, parent, is_way, c->guard);
	why = exec_errno(&p);
	if (why) {
		(void)waitpid(pid, NULL, 0); /* it is ending already */
		errno = why;
		return err_fork(e, "cannot start %s", *argv);
	}
	c->pid = pid;
	c->exit_fd = open_exit_fd(pid);
	if (c->exit_fd < 0) {
		err_fork(e, "cannot watch %s", *argv);
		child_done(c);
		return -1;
	}
	c->in = p.in[1];
	c->out = p.out[0];
	c->err = p.err[0];
	p.in[1] = p.out[0] = p.err[0] = -1;
	return 0;
}

static const struct child nobody = {.in = -1, .out = -1, .err = -1, .exit_fd = -1};

int child_start(struct child *c, char *const *argv, struct err *e)
{
	*c = nobody;
	return start(c, argv, false, NULL, e);
}

static void end_guard(struct child *c)
{
	child_guard_leave(c->guard);
	c->guard = NULL;
}

int child_start_held(struct child *c, char *const *argv, const char *line, struct err *e)
{
	*c = nobody;
	c->guard = child_guard_take();
	if (!start(c, argv, true, line, e))
		return 0;
	end_guard(c);
	return -1;
}

int child_start_way(struct child *c, char *const *argv, struct err *e)
{
	return child_start_held(c, argv, NULL, e);
}

void child_let_go(struct child *c) { close_fd(&c->in); }

void child_signal(const struct child *c, int sig)
{
	if (c->pid > 0)
		(void)kill(-c->pid, sig);
}

bool child_ended(struct child *c, int *ret_status, int *ret_signal)
{
	siginfo_t si = {0};
	uint64_t ticks;
	int st;

	(void)!read(c->exit_fd, &ticks, sizeof(ticks)); /* quiets the clock; a pidfd refuses */
	if (c->pid <= 0 || waitid(P_PID, (id_t)c->pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    !si.si_pid)
		return false;
	/* while it is a zombie the group's number cannot be anybody else's */
	if (!c->leaves_kin)
		child_signal(c, SIGKILL);
	end_guard(c);
	(void)waitpid(c->pid, &st, 0);
	c->pid = 0;
	*ret_status = WIFEXITED(st) ? WEXITSTATUS(st) : -1;
	*ret_signal = WIFSIGNALED(st) ? WTERMSIG(st) : 0;
	return true;
}

const char *child_ending(int status, int sig, struct arena *a)
{
	const char *name = sigabbrev_np(sig);

	return sig ? arena_printf(a, "killed by signal %d (SIG%s)", sig, name ? name : "?")
		   : arena_printf(a, "exit code %d", status);
}

static bool ends_within(struct child *c, int ms)
{
	int status, sig;

	for (; ms > 0 && c->pid > 0; ms -= STEP_MS)
		if (!child_ended(c, &status, &sig))
			(void)poll(NULL, 0, STEP_MS);
	return c->pid <= 0;
}

void child_done(struct child *c)
{
	child_signal(c, SIGTERM);
	if (!ends_within(c, TERM_PATIENCE_MS)) {
		child_signal(c, SIGKILL);
		(void)ends_within(c, KILL_PATIENCE_MS);
	}
	child_let_go(c);
	close_fd(&c->out);
	close_fd(&c->err);
	close_fd(&c->exit_fd);
}
