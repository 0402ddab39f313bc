#include "bench/sweep/crew.h"

#include "bench/plugin/mpirun.h"
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
static const uint64_t GIVE_UP_NS = 3 * NS_PER_S; /* for the others to say goodbye */

/* --- the child ---------------------------------------------------------------- */

static void serving(const char *line, void *arg)
{
	(void)arg;
	log_say("paste this on each of the other machines:");
	log_hint("%s", line);
}

static void send_end(struct relay *r, const struct launch_result *end)
{
	cJSON *event = relay_event("crew"), *hosts = json_array(event, "hosts"),
	      *ranks = json_array(event, "ranks");

	json_num(event, "code", end->code);
	json_str(event, "failure", end->failure);
	for (size_t i = 0; i < end->nhosts; i++) {
		cJSON *o = json_push_object(hosts);

		json_str(o, "name", end->hosts[i].name);
		json_str(o, "trouble", end->hosts[i].trouble);
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
	l.serving = serving;
	if (launch_run(&l, &a, &end, &e)) {
		cJSON *event = relay_event("error");

		json_num(event, "kind", e.kind);
		json_str(event, "message", e.msg);
		json_str(event, "hint", e.hint);
		relay_send(&relay, event);
	}
	send_end(&relay, &end);
}

/* MPI's own launcher: its ranks send us their events through its standard output. */
static void become(const char *const *argv, int out)
{
	struct err e = {0};

	(void)dup2(out, STDOUT_FILENO);
	(void)setenv("WINDSOCK_RELAY", "1", 1);
	(void)mpirun_exec(argv, &e);
	log_error("%s", e.msg);
}

static pid_t start(const struct crew_opts *o, int *ret_fd, struct err *e)
{
	pid_t parent = getpid(), pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(e, "cannot start ranks");
	(void)fflush(NULL); /* what is buffered must not be written twice */
	pid = fork();
	if (pid < 0) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		return err_sys(e, "cannot start ranks");
	}
	if (!pid) { /* never main's exit: this is a copy of a process with a report */
		(void)close(fds[0]);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent && o->mpirun)
			become(o->mpirun, fds[1]);
		else if (getppid() == parent)
			launch(o, fds[1]);
		_exit(0);
	}
	(void)close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

/* --- we ------------------------------------------------------------------------- */

struct listening {
	const struct crew_opts *o;
	bool ended;
	uint64_t give_up_ns; /* mpirun waits for ever for a stuck rank; 0: no rank is lost */
	struct err error;
};

static void on_event(const cJSON *event, void *arg)
{
	struct listening *l = arg;
	const char *name = json_get_str(event, "ev");

	if (streq(name, "error")) {
		const char *m = json_get_str(event, "message"), *h = json_get_str(event, "hint");

		if (l->error.kind)
			return;
		(void)err_set(&l->error, (enum err_kind)json_get_num(event, "kind", ERR_SYS), "%s",
			      m ? m : "");
		if (h && *h)
			(void)err_hint(&l->error, "%s", h);
		return;
	}
	l->ended |= streq(name, "crew");
	if (!l->give_up_ns && (streq(name, "lost") || streq(name, "broke")))
		l->give_up_ns = now_ns() + GIVE_UP_NS;
	l->o->event(event, l->o->arg);
}

static void on_other(const char *line, void *arg)
{
	(void)arg;
	log_say("%s", line);
}

/* Ctrl-C is passed on; an mpirun that then does not end (or never would) is made to. */
static void hurry(struct listening *l, pid_t pid, int *told)
{
	bool late = l->o->mpirun && l->give_up_ns && now_ns() > l->give_up_ns;

	if (interrupt_pending() && !*told) {
		*told = 1;
		l->give_up_ns = now_ns() + GIVE_UP_NS;
		(void)kill(pid, SIGINT);
	} else if (late && *told < 2) {
		*told = 2;
		l->give_up_ns = now_ns() + GIVE_UP_NS;
		(void)kill(pid, SIGTERM);
	} else if (late) {
		(void)kill(pid, SIGKILL);
	}
}

static void listen_to(struct listening *l, int fd, pid_t pid)
{
	struct relay_in in = {.event = on_event, .other = on_other, .arg = l};
	char *chunk = malloc(CHUNK);
	int told = 0;
	ssize_t n = 1;

	while (chunk && n) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		hurry(l, pid, &told);
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
	cJSON *event = relay_event("crew");
	char text[96];

	if (WIFSIGNALED(status))
		(void)snprintf(text, sizeof(text), "mpirun was killed by signal %d",
			       WTERMSIG(status));
	else
		(void)snprintf(text, sizeof(text),
			       "a rank died or could not start: mpirun ended with exit code %d",
			       WEXITSTATUS(status));
	if (status)
		json_str(event, "failure", text);
	o->event(event, o->arg);
	cJSON_Delete(event);
}

int crew_run(const struct crew_opts *o, struct err *e)
{
	struct listening l = {.o = o};
	int fd = -1, status = 0;
	pid_t pid = start(o, &fd, e);

	if (pid < 0)
		return -1;
	listen_to(&l, fd, pid);
	(void)close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
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
