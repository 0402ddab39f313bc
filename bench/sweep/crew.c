#include "bench/sweep/crew.h"

#include "bench/ranks/mpirun_child.h"
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { CHUNK = 64 << 10, POLL_MS = 200 };

/* --- the child ---------------------------------------------------------------- */

static const char *host_fix(const struct launch_host *h, const char *rsh, struct arena *a)
{
	return launch_fix(h, a) ?: typed_there(a, rsh_typed(a, rsh), h->name, "true");
}

static void send_end(struct relay *r, const struct launch_result *end,
		     const struct launch_opts *way, struct arena *a)
{
	cJSON *event = relay_event("crew"), *hosts = json_array(event, "hosts"),
	      *ranks = json_array(event, "ranks");
	struct err e = {0};

	if (launch_unable(end, &e))
		relay_send(r, relay_error("broke", &e));
	json_num(event, "code", end->code);
	json_str(event, "failure", end->failure);
	json_str(event, "fix", end->fix);
	json_str(event, "between", launch_between(way, a));
	for (size_t i = 0; i < end->nhosts; i++) {
		cJSON *o = json_push_object(hosts);

		json_str(o, "name", end->hosts[i].name);
		json_str(o, "trouble", end->hosts[i].trouble);
		json_str(o, "fix", host_fix(&end->hosts[i], way->rsh, a));
	}
	for (size_t i = 0; i < end->nranks; i++) {
		cJSON *o = json_push_object(ranks);

		json_str(o, "host", end->ranks[i].host->hostname);
		json_str(o, "cause", end->ranks[i].cause);
	}
	relay_send(r, event);
}

static void launch(const struct crew_opts *o, int out)
{
	AUTO(arena_done) struct arena a = {0};
	struct launch_opts l = o->launch;
	struct launch_result end = {0};
	struct relay relay = {.fd = out};
	struct err e = {0};

	l.out_fd = out;
	l.err_fd = STDERR_FILENO;
	l.raw = true;
	if (launch_run(&l, &a, &end, &e))
		relay_send(&relay, relay_error("error", &e));
	send_end(&relay, &end, &l, &a);
}

static pid_t fork_launcher(const struct crew_opts *o, const int fds[2], struct err *e)
{
	pid_t parent = getpid(), pid;

	(void)fflush(NULL); /* what is buffered must not be written twice */
	pid = fork();
	if (pid < 0)
		return err_fork(e, "cannot start ranks");
	if (!pid) { /* never main's exit: this is a copy of a process with a report */
		(void)close(fds[0]);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			launch(o, fds[1]);
		_exit(0);
	}
	return pid;
}

/* Our own launcher, or MPI's: its ranks send us their events through its standard output. */
static int start(const struct crew_opts *o, struct mpirun_child *ret, int *ret_fd, struct err *e)
{
	int fds[2], result = 0;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(e, "cannot start ranks");
	if (o->mpirun)
		result = mpirun_child_start(ret, o->mpirun, fds[1], STDERR_FILENO, e);
	else
		ret->pid = fork_launcher(o, fds, e);
	(void)close(fds[1]);
	*ret_fd = fds[0];
	if (!result && ret->pid > 0)
		return 0;
	(void)close(fds[0]);
	return -1;
}

/* --- we ------------------------------------------------------------------------- */

struct listening {
	const struct crew_opts *o;
	bool ended;
	struct mpirun_child child; /* or our own launcher's process */
	struct err error;
};

static void on_event(const cJSON *event, void *arg)
{
	struct listening *l = arg;
	const char *name = json_get_str(event, "ev");

	if (streq(name, "error")) {
		mpirun_child_over(&l->child);
		relay_error_take(event, &l->error);
		return;
	}
	l->ended |= streq(name, "crew");
	if (streq(name, "lost") || streq(name, "broke"))
		mpirun_child_over(&l->child);
	l->o->event(event, l->o->arg);
}

static void on_other(const char *line, void *arg)
{
	(void)arg;
	log_say("%s", line);
}

static void listen_to(struct listening *l, int fd)
{
	struct relay_in in = {.event = on_event, .other = on_other, .arg = l};
	char *chunk = malloc(CHUNK);
	ssize_t n = 1;

	while (chunk && n) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		mpirun_child_hurry(&l->child);
		if (poll(&p, 1, POLL_MS) <= 0)
			continue;
		n = read(fd, chunk, CHUNK);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			n = 1;
		else if (n > 0)
			relay_feed(&in, chunk, (size_t)n);
		else
			n = 0;
	}
	relay_in_done(&in);
	free(chunk);
}

/* What mpirun knows of its ranks is how it ended itself. */
static void tell_end(const struct crew_opts *o, int status)
{
	AUTO(arena_done) struct arena a = {0};
	cJSON *event = relay_event("crew");

	json_str(event, "failure", mpirun_failure(status, &a));
	o->event(event, o->arg);
	cJSON_Delete(event);
}

int crew_run(const struct crew_opts *o, struct err *e)
{
	struct listening l = {.o = o, .child = {.line = -1, .patient = !o->mpirun}};
	int fd = -1, status;

	if (start(o, &l.child, &fd, e))
		return -1;
	listen_to(&l, fd);
	(void)close(fd);
	status = mpirun_child_end(&l.child, NULL);
	if (l.error.kind) {
		*e = l.error;
		return -1;
	}
	if (o->mpirun)
		tell_end(o, status);
	else if (!l.ended)
		return err_set(e, ERR_SYS, "the launcher of the ranks ended too early");
	return 0;
}
