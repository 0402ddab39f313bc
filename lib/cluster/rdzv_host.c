/* A server in a child of rank 0, for worlds that a foreign launcher started. */
#include "lib/cluster/rendezvous.h"
#include "lib/core/apart.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const uint64_t LAST_WORDS_NS = 3 * NS_PER_S; /* from the failure, or our parent's end */
enum { START_MS = 10000, DONE_MS = 5000 };

struct birth {
	uint16_t port; /* 0: see e */
	struct err e;
};

struct hosting {
	struct loop loop;
	struct rdzv_server *server;
	struct io parent;
	struct timer end;
};

static void last_words(struct hosting *h)
{
	struct err e = {0};

	if (!h->end.pos && loop_arm(&h->loop, &h->end, LAST_WORDS_NS, &e) < 0)
		loop_stop(&h->loop);
}

static void changed(struct rdzv_server *s, void *arg)
{
	struct hosting *h = arg;

	/* Who has not joined yet shall still hear what happened. */
	if ((rdzv_server_finished(s) && rdzv_server_ready(s)) || rdzv_server_all_told(s))
		loop_stop(&h->loop);
	else if (rdzv_server_failure(s))
		last_words(h);
}

/* Rank 0 is gone; its connection tells the server so, and the others have to be told. */
static void parent_gone(struct loop *l, struct io *io, uint32_t events)
{
	(void)events;
	loop_del(l, io);
	last_words(CONTAINER_OF(io, struct hosting, parent));
}

static void time_is_up(struct loop *l, struct timer *t)
{
	(void)t;
	loop_stop(l);
}

static int host_open(struct hosting *h, const struct rdzv_server_opts *o, struct birth *b)
{
	struct rdzv_server_opts own = *o;
	struct epoll_event ignored = {0};

	own.changed = changed;
	own.arg = h;
	h->end.fire = time_is_up;
	if (loop_init(&h->loop, &b->e) < 0)
		return -1;
	/* It is our parent's too: its Ctrl-C is not ours, but its end is. */
	if (interrupt_fd() >= 0)
		(void)epoll_ctl(h->loop.epfd, EPOLL_CTL_DEL, interrupt_fd(), &ignored);
	h->server = rdzv_server_new(&h->loop, &own, &b->e);
	if (!h->server || loop_add(&h->loop, &h->parent, EPOLLRDHUP, &b->e) < 0)
		return -1;
	b->port = rdzv_server_port(h->server);
	return 0;
}

/* The launcher's signals are for its ranks: this one ends behind them. */
static void outlive_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
}

static _Noreturn void host_main(const struct rdzv_server_opts *o, int parent)
{
	struct hosting h = {.parent = {parent, parent_gone}};
	struct birth b = {0};
	struct err e = {0};

	outlive_signals();
	stand_apart(parent, interrupt_fd());
	if (host_open(&h, o, &b) < 0)
		b.port = 0;
	if (write(parent, &b, sizeof(b)) == sizeof(b) && b.port)
		(void)!loop_run(&h.loop, &e);
	rdzv_server_free(h.server);
	_exit(0);
}

/* A second Ctrl-C, or the SIGTERM that comes behind it, is no reason to cut the child short. */
static bool wait_for(int fd, uint64_t ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t end = now_ns() + ms * NS_PER_MS;

	for (int left; (left = ms_until(end));)
		if (poll(&p, 1, left) > 0)
			return true;
	return false;
}

static int wait_born(struct rdzv_host *h, struct err *e)
{
	struct birth b = {0};

	if (!wait_for(h->alive, START_MS) || read(h->alive, &b, sizeof(b)) != sizeof(b))
		return err_set(e, ERR_SYS, "the child for the rendezvous did not start");
	h->port = b.port;
	if (!b.port)
		*e = b.e;
	return b.port ? 0 : -1;
}

int rdzv_host_start(struct rdzv_host *h, const struct rdzv_server_opts *o, struct err *e)
{
	int v[2];

	*h = (struct rdzv_host){.alive = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, v))
		return err_sys(e, "cannot make a rendezvous");
	h->pid = fork();
	if (!h->pid) {
		(void)close(v[0]);
		host_main(o, v[1]);
	}
	(void)close(v[1]);
	h->alive = v[0];
	if (h->pid < 0) {
		h->pid = 0;
		err_fork(e, "cannot fork for the rendezvous");
	} else if (!wait_born(h, e)) {
		return 0;
	}
	rdzv_host_done(h);
	return -1;
}

void rdzv_host_done(struct rdzv_host *h)
{
	if (h->alive >= 0) {
		(void)shutdown(h->alive, SHUT_WR);
		(void)wait_for(h->alive, DONE_MS); /* it closes its end when it ends */
		(void)close(h->alive);
	}
	if (h->pid > 0) {
		(void)kill(h->pid, SIGKILL); /* not reaped yet, so it is still ours */
		(void)waitpid(h->pid, NULL, 0);
	}
	*h = (struct rdzv_host){.alive = -1};
}
