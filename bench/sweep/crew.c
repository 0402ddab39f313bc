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
#include <sys/socket.h>
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

struct launching {
	struct launch_opts opts;
	struct relay relay;
	struct arena a;
	int verdict; /* our parent's */
};

/* Our parent ends by itself, and we with it; those who wait for the code give up by their clock. */
static int on_over(const struct launch_result *got, void *arg)
{
	struct launching *x = arg;
	unsigned char code;
	ssize_t n;

	send_end(&x->relay, got, &x->opts, &x->a);
	while ((n = read(x->verdict, &code, 1)) < 0 && errno == EINTR)
		;
	return n == 1 ? code : got->code;
}

static void launch(const struct crew_opts *o, int out, int verdict)
{
	struct launching x = {.opts = o->launch, .relay.fd = out, .verdict = verdict};
	struct launch_result end = {0};
	struct err e = {0};

	x.opts.out_fd = out;
	x.opts.err_fd = STDERR_FILENO;
	x.opts.raw = true;
	x.opts.judge = on_over;
	x.opts.judge_arg = &x;
	if (launch_run(&x.opts, &x.a, &end, &e)) {
		relay_send(&x.relay, relay_error("error", &e));
		send_end(&x.relay, &end, &x.opts, &x.a);
	}
	arena_done(&x.a);
}

/* Events go to @fds[1]; the verdict comes from @verdict[0]. */
static pid_t fork_launcher(const struct crew_opts *o, const int fds[2], const int verdict[2],
			   struct err *e)
{
	pid_t parent = getpid(), pid;

	(void)fflush(NULL); /* what is buffered must not be written twice */
	pid = fork();
	if (pid < 0)
		return err_fork(e, "cannot start ranks");
	if (!pid) { /* never main's exit: this is a copy of a process with a report */
		(void)close(fds[0]);
		(void)close(verdict[1]);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			launch(o, fds[1], verdict[0]);
		_exit(0);
	}
	return pid;
}

/* --- we ------------------------------------------------------------------------- */

struct listening {
	const struct crew_opts *o;
	bool ended;
	int events, verdict;	   /* where they come from, and it goes to; -1: nowhere */
	struct mpirun_child child; /* or our own launcher's process */
	struct err *e;
};

static int start_own(struct listening *l, int out, struct err *e)
{
	int verdict[2];

	/* who is not there any more to be told is no signal for us */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, verdict))
		return err_sys(e, "cannot start ranks");
	l->child.pid = fork_launcher(l->o, (int[]){l->events, out}, verdict, e);
	l->verdict = verdict[1];
	(void)close(verdict[0]);
	return l->child.pid > 0 ? 0 : -1;
}

/* Our own launcher, or MPI's: its ranks send us their events through its standard output. */
static int start(struct listening *l, struct err *e)
{
	const char *const *mpirun = l->o->mpirun;
	int fds[2], result;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(e, "cannot start ranks");
	l->events = fds[0];
	result = mpirun ? mpirun_child_start(&l->child, mpirun, fds[1], STDERR_FILENO, e)
			: start_own(l, fds[1], e);
	(void)close(fds[1]);
	return result;
}

static void on_end(struct listening *l)
{
	unsigned char code = (unsigned char)l->o->judge(l->o->arg);

	l->ended = true;
	(void)send(l->verdict, &code, 1, MSG_NOSIGNAL);
}

static void on_event(const cJSON *event, void *arg)
{
	struct listening *l = arg;
	const char *name = json_get_str(event, "ev");

	if (streq(name, "error")) {
		mpirun_child_over(&l->child);
		relay_error_take(event, l->e);
		return;
	}
	if (streq(name, "lost") || streq(name, "broke"))
		mpirun_child_over(&l->child);
	l->o->event(event, l->o->arg);
	if (streq(name, "crew"))
		on_end(l);
}

static void on_other(const char *line, void *arg)
{
	(void)arg;
	log_say("%s", line);
}

static void listen_to(struct listening *l)
{
	struct relay_in in = {.event = on_event, .other = on_other, .arg = l};
	char *chunk = malloc(CHUNK);
	ssize_t n = 1;

	while (chunk && n) {
		struct pollfd p = {.fd = l->events, .events = POLLIN};

		mpirun_child_hurry(&l->child);
		if (poll(&p, 1, POLL_MS) <= 0)
			continue;
		n = read(l->events, chunk, CHUNK);
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

static void listening_done(struct listening *l)
{
	auto_closep(&l->events);
	auto_closep(&l->verdict);
}

int crew_run(const struct crew_opts *o, struct err *e)
{
	AUTO(listening_done)
	struct listening l = {.o = o,
			      .events = -1,
			      .verdict = -1,
			      .child = {.line = -1, .patient = !o->mpirun},
			      .e = e};
	int status;

	if (start(&l, e))
		return -1;
	listen_to(&l);
	status = mpirun_child_end(&l.child, NULL);
	if (e->kind)
		return -1;
	if (o->mpirun)
		tell_end(o, status);
	else if (!l.ended)
		return err_set(e, ERR_SYS, "the launcher of the ranks ended too early");
	return 0;
}
