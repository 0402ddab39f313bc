/* An agent without ranks on each host, held by a process of its own for as long as another lives.
 */
#include "lib/cluster/launch_agents.h"

#include "lib/core/apart.h"
#include "lib/core/interrupt.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct holding {
	struct io until;
	struct launch *L;
	bool over;
};

/* A signal for the caller's group is not for us, and one for us needs no handler: what we have
 * started ends with us. */
static void leave_group(void)
{
	static const int own[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM};

	(void)setpgid(0, 0);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		(void)signal(own[i], SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
}

/* It says nothing: that it can be read from means that it was closed. */
static void on_closed(struct loop *l, struct io *io, uint32_t events UNUSED)
{
	CONTAINER_OF(io, struct holding, until)->over = true;
	loop_del(l, io);
	loop_stop(l);
}

static int gather(struct holding *h, struct err *e)
{
	struct loop *l = &h->L->loop;
	struct epoll_event ignored = {0};

	if (launch_init(h->L, e) < 0)
		return -1;
	/* It is our parent's too: its Ctrl-C is not ours, but its end is. */
	if (interrupt_fd() >= 0)
		(void)epoll_ctl(l->epfd, EPOLL_CTL_DEL, interrupt_fd(), &ignored);
	if (loop_add(l, &h->until, EPOLLIN | EPOLLRDHUP, e) < 0 || agents_gather(h->L, e) < 0)
		return -1;
	h->L->running = true; /* one that is lost now is no end of the waiting */
	return 0;
}

static void put(int fd, const char *s)
{
	for (size_t n = s ? strlen(s) + 1 : 1, at = 0; at < n;) {
		ssize_t did = write(fd, s ? s + at : "", n - at);

		if (did <= 0)
			return; /* nobody is there */
		at += (size_t)did;
	}
}

static void tell(const struct holding *h, const struct err *e)
{
	put(h->until.fd, e->msg);
	put(h->until.fd, err_fix(e, h->L->a));
	for (size_t i = 0; e->kind == ERR_NONE && i < h->L->agents.n; i++) {
		const struct launch_host *x = h->L->agents.v[i]->h;

		put(h->until.fd, x->trouble);
		put(h->until.fd, x->trouble ? launch_fix(x, h->L->a) : NULL);
	}
}

static size_t number_of(const struct agent_host *a)
{
	size_t i = 0;

	while (i < a->of->agents.n && a->of->agents.v[i] != a)
		i++;
	return i;
}

/* What was brought there is gone with it. Who has not read the last of those knows already: nobody
 * is waited for, or the other agents would think that we are gone. */
static void on_lost(struct agent_host *a)
{
	const struct holding *h = a->of->holds;
	char text[256] = "";

	if (agent_is_cut_off(a))
		(void)snprintf(text, sizeof(text), "%zu %s", number_of(a), a->h->trouble);
	(void)!send(h->until.fd, text, strlen(text) + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

_Noreturn void launch_hold(struct launch *L, int until)
{
	struct holding h = {.until = {.fd = until, .ready = on_closed}, .L = L};
	struct err e = {0};
	int rc;

	leave_group();
	stand_apart(until, interrupt_fd());
	rc = gather(&h, &e);
	tell(&h, &e);
	L->holds = &h;
	L->lost = on_lost;
	/* one that came before we stood apart holds for us, too: no loop would run */
	while (!rc && !h.over && !interrupt_pending())
		rc = loop_run(&L->loop, &e);
	launch_done(L);
	_exit(0);
}
