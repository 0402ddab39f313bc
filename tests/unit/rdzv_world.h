#ifndef TESTS_UNIT_RDZV_WORLD_H
#define TESTS_UNIT_RDZV_WORLD_H
/*
 * A world of real processes that meet over loopback: the test is the launcher,
 * with the server in its loop and an eye on its children, as an agent has.
 */
#include "lib/cluster/rendezvous.h"
#include "lib/core/units.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { RANKS_MAX = 64, SAID_MAX = 1024 };

struct process {
	struct io io; /* its pidfd */
	pid_t pid;
	int rank, out;
	uint64_t ended_ns;
	char said[SAID_MAX]; /* what it had to say at its end */
};

static struct launch {
	struct loop loop;
	struct rdzv_server *server;
	struct rdzv_join_opts join;
	struct timer limit, fault;
	struct process v[RANKS_MAX];
	int n, left;
	bool agent; /* tells the server how processes ended */
} L;

static const struct token test_token = {{1, 2, 3}};

static inline union addr loopback(uint16_t port)
{
	union addr a = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};

	addr_set_port(&a, port);
	return a;
}

/* What the process says at its end, for its parent; "" when all went well. */
static inline void say(const struct process *p, const char *text)
{
	(void)!write(p->out, text, strlen(text));
}

static inline struct rdzv *enter(const struct process *p, struct err *e)
{
	static char host[16];

	snprintf(host, sizeof(host), "node%d", p->rank / 2);
	L.join.rank = p->rank;
	L.join.local_rank = p->rank % 2;
	L.join.host = host;
	L.join.data_addr = "127.0.0.1";
	return rdzv_join(&L.join, e);
}

static inline void ended(struct loop *l, struct io *io, uint32_t events)
{
	struct process *p = CONTAINER_OF(io, struct process, io);
	char cause[64];
	ssize_t n;
	int status;

	(void)events;
	loop_del(l, io);
	(void)close(io->fd);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	p->pid = 0;
	p->ended_ns = now_ns();
	n = read(p->out, p->said, sizeof(p->said) - 1);
	p->said[n > 0 ? n : 0] = 0;
	(void)close(p->out);
	if (L.agent && L.server) {
		if (WIFSIGNALED(status))
			snprintf(cause, sizeof(cause), "killed by signal %d", WTERMSIG(status));
		else
			snprintf(cause, sizeof(cause), "exit code %d", WEXITSTATUS(status));
		rdzv_server_report_exit(L.server, p->rank,
					WIFEXITED(status) && !WEXITSTATUS(status) ? NULL : cause);
	}
	if (!--L.left)
		loop_stop(l);
}

static inline void too_long(struct loop *l, struct timer *t)
{
	(void)t;
	print_error("# the world did not end in time\n");
	loop_stop(l);
}

static inline void last_one_left(struct rdzv_server *s, void *arg)
{
	if (rdzv_server_finished(s) && !L.left)
		loop_stop(arg);
}

static inline void launch_begin(int size, uint64_t heartbeat_ns, bool agent,
				const struct token *token)
{
	struct rdzv_server_opts o = {.size = size,
				     .token = token,
				     .run = "test",
				     .at = loopback(0),
				     .join_deadline_ns = 5 * NS_PER_S,
				     .heartbeat_ns = heartbeat_ns,
				     .changed = last_one_left,
				     .arg = &L.loop};
	struct err e = {0};

	L = (struct launch){.agent = agent, .limit.fire = too_long};
	assert_int_equal(loop_init(&L.loop, &e), 0);
	L.server = rdzv_server_new(&L.loop, &o, &e);
	assert_non_null(L.server);
	L.join = (struct rdzv_join_opts){.server = loopback(rdzv_server_port(L.server)),
					 .token = token,
					 .run = "test",
					 .size = size,
					 .deadline_ns = 5 * NS_PER_S};
}

static inline void start_rank(int rank, void (*work)(struct process *p))
{
	struct process *p = &L.v[L.n++];
	int out[2];
	struct err e = {0};

	assert_int_equal(pipe(out), 0);
	fflush(NULL);
	*p = (struct process){.rank = rank, .pid = fork()};
	assert_true(p->pid >= 0);
	if (!p->pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(out[0]);
		if (L.loop.epfd > 0)
			(void)close(L.loop.epfd);
		p->out = out[1];
		work(p);
		_exit(0);
	}
	(void)close(out[1]);
	p->out = out[0];
	p->io = (struct io){(int)syscall(SYS_pidfd_open, p->pid, 0), ended};
	assert_true(p->io.fd >= 0);
	assert_int_equal(loop_add(&L.loop, &p->io, EPOLLIN, &e), 0);
	L.left++;
}

/* Until all have ended, the stopped one last. */
static inline void launch_watch(uint64_t limit_ns)
{
	struct err e = {0};

	assert_int_equal(loop_arm(&L.loop, &L.limit, limit_ns, &e), 0);
	assert_int_equal(loop_run(&L.loop, &e), 0);
}

static inline int launch_end(void **state)
{
	(void)state;
	for (int i = 0; i < L.n; i++)
		if (L.v[i].pid > 0) {
			(void)kill(L.v[i].pid, SIGKILL);
			(void)waitpid(L.v[i].pid, NULL, 0);
			(void)close(L.v[i].io.fd);
			(void)close(L.v[i].out);
		}
	rdzv_server_free(L.server);
	loop_done(&L.loop);
	L = (struct launch){0};
	return 0;
}

#endif
