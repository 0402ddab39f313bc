/*
 * The hidden helper on every host: starts ranks as it is ordered, says how
 * they ended, and leaves nothing behind. It is two processes, each taking over
 * what falls to it (a subreaper): when the one that works is killed, the other
 * ends whatever it had started, and the other way round.
 */
#include "lib/cluster/agent_ranks.h"

#include "lib/cluster/launch.h"
#include "lib/cluster/loopback.h"
#include "lib/cluster/parcel.h"
#include "lib/cluster/trouble.h"
#include "lib/core/apart.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/core/version.h"
#include "lib/core/wait.h"
#include "lib/net/peer_user.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { HOST_NAME = 256, END_PATIENCE_S = 1, STRANGERS_MAX = 64 };

void agent_say_hello(struct agent *g)
{
	unsigned char buf[4096];
	struct wire_out w = {buf, 0, sizeof(buf), false};
	char host[HOST_NAME] = "?";
	struct err e = {0};

	(void)gethostname(host, sizeof(host) - 1);
	wire_put_u32(&w, AGENT_PROTOCOL);
	wire_put_str(&w, WINDSOCK_VERSION);
	wire_put_str(&w, host);
	wire_put_str(&w, agent_data_addr(g->joined ? &g->peer : NULL, &g->a));
	(void)!loopback_check(&e);
	wire_put_str(&w, e.msg);
	wire_put_str(&w, err_fix(&e, &g->a) ?: "");
	link_send(&g->link, SAY_HELLO, buf, w.n);
}

/* Our ranks are ours. Where the kernel does not say whose a connection is, there may be a few more
 * than there are ranks: who says nothing makes room for who comes later. */
static void on_accept(struct listener *l, int fd, const union addr *from UNUSED)
{
	struct agent *g = CONTAINER_OF(l, struct agent, listener);
	bool is_full = g->streams.n >= 2u * (unsigned)g->orders.count + STRANGERS_MAX;
	struct err ignored;
	uid_t user;

	if ((peer_user(fd, &user) && user != geteuid()) ||
	    (is_full && !streams_make_room(&g->streams)))
		(void)close(fd); /* somebody else on this host, trying */
	else
		(void)!stream_new(&g->streams, fd, 0, &ignored);
}

static int carry(struct agent *g, struct err *e)
{
	union addr any = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};

	g->listener.on_accept = on_accept;
	return g->orders.port ? 0 : listener_open(&g->listener, &g->loop, &any, e);
}

static int start(struct agent *g, struct wire_in *in)
{
	unsigned char buf[sizeof(struct err) + 8];
	struct wire_out w = {buf, 0, sizeof(buf), false};
	struct err e = {0};

	if (g->ranks || orders_unpack(in, &g->a, &g->orders) < 0)
		return -1;
	if (g->joined)
		log_say("the run begins: %d of %d ranks here", g->orders.count, g->orders.size);
	if (carry(g, &e) < 0 || ranks_start(g, &e) < 0) {
		wire_put_str(&w, e.msg);
		wire_put_str(&w, err_fix(&e, &g->a) ?: "");
		link_send(&g->link, SAY_TROUBLE, buf, w.n);
		g->failed = true;
		if (g->joined) /* whoever sits at this machine can mend it */
			log_error("%s", e.msg);
	}
	return 0;
}

static void end_ranks(struct agent *g)
{
	struct err ignored;

	ranks_end(g);
	(void)!loop_arm(&g->loop, &g->patience, END_PATIENCE_S * NS_PER_S, &ignored);
}

static void on_patience(struct loop *l, struct timer *t UNUSED)
{
	ranks_signal(CONTAINER_OF(l, struct agent, loop), SIGKILL);
}

static int on_message(struct link *l, uint16_t type, struct wire_in *in)
{
	struct agent *g = CONTAINER_OF(l, struct agent, link);

	silence_heard(&g->silence, now_ns());
	switch (type) {
	case ORDER_START:
		return start(g, in);
	case ORDER_SIGNAL:
		ranks_signal(g, (int)wire_u32(in));
		break;
	case ORDER_END:
		end_ranks(g);
		break;
	case ORDER_CREDIT:
		ranks_credit(g, wire_u32(in));
		break;
	case ORDER_PING:
		break;
	case ORDER_OVER:
		g->run_code = (int)wire_u32(in);
		g->is_over = true;
		break;
	case ORDER_REFUSED:
		g->why = wire_str(in, &g->a);
		g->opened = false;
		g->refused = true;
		loop_stop(&g->loop);
		break;
	case STREAM_DATA:
	case STREAM_CLOSE:
		return streams_message(&g->streams, type, in);
	default:
		return -1;
	}
	return in->bad ? -1 : 0;
}

static void on_closed(struct link *l, const char *why)
{
	struct agent *g = CONTAINER_OF(l, struct agent, link);

	g->why = why ? arena_strdup(&g->a, why) : NULL;
	loop_stop(&g->loop);
}

static void listen_on(struct loop *l, struct timer *t)
{
	struct agent *g = CONTAINER_OF(l, struct agent, loop);
	uint64_t wait = silence_look(&g->silence, now_ns(), 0);
	struct err ignored;

	if (wait) {
		(void)!loop_arm(l, t, wait, &ignored);
		return;
	}
	g->why = "it has said nothing for too long";
	loop_stop(l);
}

int agent_init(struct agent *g, struct err *e)
{
	interrupt_install();
	(void)signal(SIGPIPE, SIG_IGN);
	if (loop_init(&g->loop, e) < 0)
		return -1;
	g->keeper = getppid();
	g->listen.fire = listen_on;
	g->patience.fire = on_patience;
	g->streams = (struct streams){.link = &g->link, .loop = &g->loop};
	g->link.on_message = on_message;
	g->link.on_closed = on_closed;
	silence_begin(&g->silence, AGENT_SILENCE_S * NS_PER_S, now_ns());
	listen_on(&g->loop, &g->listen);
	return 0;
}

/* Where it joined, a person here has ended the run: no host is lost. */
static void say_left(struct agent *g)
{
	unsigned char buf[4];
	struct wire_out w = {buf, 0, sizeof(buf), false};

	wire_put_u32(&w, (uint32_t)interrupt_pending());
	if (g->joined && getppid() == g->keeper)
		link_send(&g->link, SAY_LEFT, buf, w.n);
}

/* Ended by a signal: the host is lost, which is the news, not what its ranks say of their end. */
void agent_done(struct agent *g)
{
	if (interrupt_pending()) {
		say_left(g);
		link_close(&g->link);
		ranks_signal(g, SIGKILL);
	}
	ranks_done(g);
	streams_done(&g->streams);
	link_close(&g->link);
	listener_close(&g->listener);
	loop_done(&g->loop);
	arena_done(&g->a);
}

/* The exit code of what a signal has ended, as shells say it. */
static int killed_by(int sig) { return sig ? AGENT_KILLED + sig : 0; }

/* A terminal: of `ssh -tt`, which is found out later. */
static int check_orders(int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(e, "an agent cannot begin");
	return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd)
		       ? 0
		       : err_set(e, ERR_SYS, TROUBLE_UNFED);
}

static int work_on_pipes(const struct job_of_agent *job)
{
	struct agent g = {.link.closed = true};
	const char *greeting = link_greeting();
	struct err e = {0};
	int rc = 3;

	if (!agent_init(&g, &e) && !check_orders(job->in, &e) &&
	    write(job->out, greeting, strlen(greeting)) > 0 &&
	    !link_open(&g.link, &g.loop, job->in, job->out, false, &e)) {
		agent_say_hello(&g);
		rc = loop_run(&g.loop, &e) < 0 ? 3 : killed_by(interrupt_pending());
	}
	if (e.kind != ERR_NONE)
		log_error("%s", e.msg); /* the launcher quotes it */
	agent_done(&g);
	return rc;
}

static int work(const struct job_of_agent *job)
{
	return job->to ? agent_join(job) : work_on_pipes(job);
}

/*
 * Runs the job in a child, and ends whatever is left of it however it ends. Both
 * remove the copy of our folder that was made for this run: either may be killed.
 */
static int guarded(const struct job_of_agent *job, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const char *copy = parcel_folder(&a);
	pid_t me = getpid(), pid;
	int st = 0;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)signal(SIGCHLD, SIG_DFL);
	if (agent_is_child())
		agent_end_with(getppid());
	pid = fork();
	if (pid < 0)
		return err_sys(e, "cannot start an agent");
	if (pid == 0) {
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
		agent_end_with(me);
		if (!job->to) /* who kills our group means the other half */
			(void)setpgid(0, 0);
		st = getppid() == me ? work(job) : 3;
		agent_reap_all();
		parcel_remove(copy);
		_exit(st);
	}
	auto_closep(&(int){job->in});
	auto_closep(&(int){job->out});
	agent_hear_interrupts(job->to != NULL, pid);
	st = wait_child(pid);
	agent_reap_all();
	parcel_remove(copy);
	return WIFEXITED(st) ? WEXITSTATUS(st) : job->to ? 3 : killed_by(WTERMSIG(st));
}

/* Nothing that is printed by mistake may get among the messages. */
static int move_away(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3), null = open_nothing();

	if (null >= 0 && null != fd)
		(void)dup2(null, fd);
	if (null > 2)
		(void)close(null);
	return moved;
}

int agent_main(int in, int out)
{
	struct job_of_agent job = {.in = move_away(in), .out = move_away(out)};
	struct err e = {0};
	int rc = job.in < 0 || job.out < 0 ? err_sys(&e, "an agent cannot begin")
					   : guarded(&job, &e);

	if (rc < 0)
		log_error("%s", e.msg); /* the launcher quotes it */
	return rc < 0 ? 3 : rc;
}

int agent_joined(const addr_list *to, const struct token *t, struct err *e)
{
	return guarded(&(struct job_of_agent){.in = -1, .out = -1, .to = to, .token = t}, e);
}
