/* Starting the agents, a bounded number at a time, and what becomes of them. */
#include "lib/cluster/launch_agents.h"

#include "lib/cluster/way.h"
#include "lib/core/fix.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/core/version.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

enum {
	EXIT_PATIENCE_MS = 1000,
	END_MS = 2000,
	STEP_MS = 5,
	WORDS_MAX = 1 << 20, /* bytes of stderr left in a pipe when its process has ended */
};

static struct err ignored;

static void start_more(struct launch *L);
static bool comes_again(struct agent_host *h);

struct agent_host *agents_add(struct launch *L, const char *name, bool local)
{
	struct agent_host *h = ARENA_NEW(L->a, struct agent_host);

	*h = (struct agent_host){.of = L, .h = ARENA_NEW(L->a, struct launch_host), .local = local};
	h->h->name = arena_strdup(L->a, name);
	h->h->local = local;
	h->link.closed = true;
	h->err_io.fd = h->exit_io.fd = -1;
	*LIST_ADD(L->a, &L->agents) = h;
	return h;
}

/* All that can be is up. */
static bool is_gathered(const struct launch *L)
{
	if (L->next < L->agents.n || L->starting || (L->o.serve && L->joined < L->o.wait))
		return false;
	return true;
}

static void settled(struct agent_host *h, enum agent_state state)
{
	struct launch *L = h->of;

	L->starting -= h->state == AGENT_STARTING;
	h->state = state;
	loop_disarm(&L->loop, &h->patience);
	start_more(L);
	if (!L->running && is_gathered(L))
		loop_stop(&L->loop);
}

static void unwatch(struct agent_host *h)
{
	loop_del(&h->of->loop, &h->err_io);
	loop_del(&h->of->loop, &h->exit_io);
	loop_disarm(&h->of->loop, &h->patience);
}

/* Takes no part any more; why is in its trouble. */
static void gone(struct agent_host *h)
{
	enum agent_state was = h->state;

	if (was == AGENT_GONE)
		return;
	unwatch(h);
	streams_done(&h->streams);
	link_close(&h->link);
	if (h->visitor) {
		door_left(h);
		return;
	}
	if (was == AGENT_UP && h->joined && !h->of->running) {
		door_lost(h);
		return;
	}
	settled(h, AGENT_GONE);
	if (was == AGENT_UP)
		ranks_lost(h);
	if (was == AGENT_UP && h->of->running && h->of->lost)
		h->of->lost(h);
}

void agent_give_up(struct agent_host *h, const char *trouble)
{
	if (!h->visitor && !h->h->trouble)
		h->h->trouble = trouble;
	child_signal(&h->child, SIGTERM);
	gone(h);
}

/* ---- how it ended ---- */
/* Keeps the end of what it says; false: there is nothing more, for now or for ever. */
static bool hear_words(struct agent_host *h)
{
	char buf[TAIL_MAX];
	ssize_t n = h->err_io.fd >= 0 ? read(h->err_io.fd, buf, sizeof(buf)) : -1;
	size_t drop;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		loop_del(&h->of->loop, &h->err_io);
	if (n <= 0)
		return false;
	drop = h->tail_n + (size_t)n > TAIL_MAX ? h->tail_n + (size_t)n - TAIL_MAX : 0;
	memmove(h->tail, h->tail + drop, h->tail_n - drop);
	memcpy(h->tail + h->tail_n - drop, buf, (size_t)n);
	h->tail_n += (size_t)n - drop;
	h->tail[h->tail_n] = '\0';
	return true;
}

static void hear_question(struct agent_host *h)
{
	const bool asked = h->asks;

	h->asks = way_asks(h->tail);
	if (h->asks != asked)
		(void)!loop_arm(&h->of->loop, &h->patience,
				way_patience(h->tail, h->of->o.deadline_ns), &ignored);
}

static void on_err(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	struct agent_host *h = CONTAINER_OF(io, struct agent_host, err_io);

	if (hear_words(h) && h->state == AGENT_STARTING && !h->local)
		hear_question(h);
}

/* What it said last is read before its link is drained: that may be what gives it up. A site's
 * words for everybody may lie before those that say why. */
static void on_exit_fd(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	struct agent_host *h = CONTAINER_OF(io, struct agent_host, exit_io);

	if (!child_ended(&h->child, &h->status, &h->sig))
		return;
	for (size_t most = WORDS_MAX; most && hear_words(h); most -= TAIL_MAX)
		;
	link_drain(&h->link);
	if (comes_again(h))
		return;
	if (!h->h->trouble)
		h->h->trouble = agent_why_gone(h);
	gone(h);
	child_done(&h->child);
}

static void on_patience(struct loop *l UNUSED, struct timer *t)
{
	struct agent_host *h = CONTAINER_OF(t, struct agent_host, patience);
	size_t unsent = h->link.closed ? 0 : h->link.raw_n;

	if (unsent && unsent != h->unsent && !h->asks) { /* a copy on its way over a slow network */
		h->unsent = unsent;
		(void)!loop_arm(&h->of->loop, t, h->of->o.deadline_ns, &ignored);
		return;
	}
	h->timed_out |= h->state == AGENT_STARTING && !h->link.closed;
	agent_give_up(h, h->visitor ? NULL : agent_why_gone(h));
}

/* ssh says why as it ends, a moment later. */
static void on_closed(struct link *link, const char *why)
{
	struct agent_host *h = CONTAINER_OF(link, struct agent_host, link);
	struct launch *L = h->of;

	if (why && h->state == AGENT_STARTING && !h->h->trouble)
		agent_misspoke(h, why);
	if (h->child.pid &&
	    loop_arm(&L->loop, &h->patience, EXIT_PATIENCE_MS * NS_PER_MS, &ignored) == 0)
		return;
	agent_give_up(h, h->visitor ? NULL : agent_why_gone(h));
}

/* ---- how it begins ---- */
static int hello(struct agent_host *h, struct wire_in *in)
{
	struct launch *L = h->of;
	uint32_t protocol = wire_u32(in);
	const char *version = wire_str(in, L->a), *hostname = wire_str(in, L->a);
	const char *addr = wire_str(in, L->a), *trouble = "", *fix = "";
	bool same = protocol == AGENT_PROTOCOL && streq(version, WINDSOCK_VERSION);

	if (same) {
		trouble = wire_str(in, L->a);
		fix = wire_str(in, L->a);
	}
	if (in->bad || h->state == AGENT_UP)
		return -1;
	if (h->visitor && (!same || *trouble)) {
		door_refuse(h, !same  ? agent_why_other(h, version, protocol)
			       : *fix ? arena_printf(L->a, "%s; %s", trouble, fix_text(fix))
				      : trouble);
		return 0;
	}
	if (h->visitor)
		door_entered(h);
	h->h->hostname = host_said(L->a, hostname);
	h->h->addr = addr;
	if (!same) {
		h->h->way_fix = agent_fix_other(h);
		agent_give_up(h, agent_why_other(h, version, protocol));
		return 0;
	}
	if (*trouble) {
		if (*fix)
			h->h->fix = fix;
		else
			agent_advise_short(h, trouble);
		agent_give_up(h, arena_printf(L->a, "%s: %s", h->h->name, trouble));
		return 0;
	}
	L->joined += h->joined;
	settled(h, AGENT_UP);
	return 0;
}

static int on_message(struct link *link, uint16_t type, struct wire_in *in)
{
	struct agent_host *h = CONTAINER_OF(link, struct agent_host, link);

	return type == SAY_HELLO  ? hello(h, in)
	       : type == SAY_LEFT ? door_leaves(h, in)
				  : ranks_message(h, type, in);
}

int agent_watch_link(struct agent_host *h, struct err *e)
{
	h->link.on_message = on_message;
	h->link.on_closed = on_closed;
	h->streams = (struct streams){.link = &h->link, .loop = &h->of->loop};
	h->patience.fire = on_patience;
	return loop_arm(&h->of->loop, &h->patience, h->of->o.deadline_ns, e);
}

static int watch(struct agent_host *h, int orders, struct err *e)
{
	struct loop *l = &h->of->loop;
	int out = h->child.out;

	h->child.out = -1; /* the link's from now on */
	h->err_io = (struct io){.fd = h->child.err, .ready = on_err};
	h->exit_io = (struct io){.fd = h->child.exit_fd, .ready = on_exit_fd};
	copy_offer(h);
	if (link_open(&h->link, l, out, orders, true, e) < 0)
		return -1;
	if (loop_add(l, &h->err_io, EPOLLIN, e) < 0)
		return -1;
	return loop_add(l, &h->exit_io, EPOLLIN, e);
}

static int start(struct agent_host *h, struct err *e)
{
	AUTO_CLOSE int theirs = -1;
	char *const *argv;
	int ours[2];

	h->state = AGENT_STARTING;
	h->of->starting++;
	if (agent_watch_link(h, e) < 0)
		return -1;
	if (pipe2(ours, O_CLOEXEC))
		return err_sys(e, "cannot start an agent on %s", h->h->name);
	theirs = ours[0];
	if (fcntl(theirs, F_SETFD, 0) || agent_argv(h->of, h, theirs, &argv, e) < 0 ||
	    (h->local ? child_start : child_start_way)(&h->child, argv, e) < 0) {
		(void)close(ours[1]);
		return -1;
	}
	return watch(h, ours[1], e);
}

/* What goes wrong here goes wrong on this machine, for every host. */
static void cannot_start(struct agent_host *h)
{
	struct launch *L = h->of;

	L->next = L->agents.n;
	gone(h);
	loop_stop(&L->loop);
}

static void on_again(struct loop *l UNUSED, struct timer *t)
{
	struct agent_host *h = CONTAINER_OF(t, struct agent_host, patience);

	h->of->starting--;
	if (start(h, &h->of->wrong) < 0)
		cannot_start(h);
}

/* Whom sshd turned away among so many has run nothing, and is tried again a little later. */
static bool comes_again(struct agent_host *h)
{
	uint64_t pause_ns;

	if (h->state != AGENT_STARTING || h->local || h->h->trouble || !way_turned_away(h->tail) ||
	    !way_may_try_again(h->tried, (size_t)h->h->name[strlen(h->h->name) - 1], h->since_ns,
			       h->of->o.deadline_ns, &pause_ns))
		return false;
	unwatch(h);
	streams_done(&h->streams);
	link_close(&h->link);
	child_done(&h->child);
	h->tried++;
	h->tail_n = 0;
	*h->tail = *h->link.noise = '\0';
	h->patience.fire = on_again;
	return loop_arm(&h->of->loop, &h->patience, pause_ns, &ignored) == 0;
}

static void start_more(struct launch *L)
{
	while (L->starting < L->o.parallel && L->next < L->agents.n && !interrupt_pending()) {
		struct agent_host *h = L->agents.v[L->next++];

		h->since_ns = now_ns();
		if (!h->joined && start(h, &L->wrong) < 0)
			cannot_start(h);
	}
}

int agents_gather(struct launch *L, struct err *e)
{
	start_more(L);
	if (L->wrong.kind == ERR_NONE && !is_gathered(L) && loop_run(&L->loop, e) < 0)
		return -1;
	if (L->wrong.kind == ERR_NONE)
		return 0;
	*e = L->wrong;
	return -1;
}

/*
 * A closed link is the order to end, for all at once; then they are waited for
 * together. A remote shell that has not reached our agent would not notice.
 */
void agents_done(struct launch *L)
{
	size_t left = L->agents.n;
	int status, sig;

	door_close(L);
	door_say_over(L);
	for (size_t i = 0; i < L->agents.n; i++) {
		unwatch(L->agents.v[i]);
		streams_done(&L->agents.v[i]->streams);
		link_close(&L->agents.v[i]->link);
		if (L->agents.v[i]->state == AGENT_STARTING)
			child_signal(&L->agents.v[i]->child, SIGTERM);
	}
	for (int ms = 0; left && ms < END_MS; ms += STEP_MS) {
		left = 0;
		for (size_t i = 0; i < L->agents.n; i++)
			left += L->agents.v[i]->child.pid &&
				!child_ended(&L->agents.v[i]->child, &status, &sig);
		if (left)
			(void)poll(NULL, 0, STEP_MS);
	}
	for (size_t i = 0; left && i < L->agents.n; i++)
		child_signal(&L->agents.v[i]->child, SIGKILL); /* its agent hears that too */
	for (size_t i = 0; i < L->agents.n; i++) {
		if (L->agents.v[i]->joined)
			free(L->agents.v[i]);
		else if (L->agents.v[i]->err_io.fd >= 0)
			child_done(&L->agents.v[i]->child);
	}
	L->agents.n = 0;
}
