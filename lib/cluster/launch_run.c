/* A run from its options to its exit code. */
#include "lib/cluster/launch_agents.h"

#include "lib/cluster/loopback.h"
#include "lib/cluster/open_files.h"
#include "lib/cluster/own_machine.h"
#include "lib/cluster/rdzv_messages.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <signal.h>
#include <sys/epoll.h>

enum { PARALLEL = 32, DEADLINE_S = 30, HEARTBEAT_S = 10, SERVE_S = 600, WORDS_S = 4, END_S = 3 };

static void set_defaults(struct launch *L)
{
	struct launch_opts *o = &L->o;

	L->run_id = L->run_id ?: "";
	o->parallel = o->parallel ? o->parallel : PARALLEL;
	o->deadline_ns = o->deadline_ns ? o->deadline_ns : DEADLINE_S * NS_PER_S;
	o->heartbeat_ns = o->heartbeat_ns ? o->heartbeat_ns : HEARTBEAT_S * NS_PER_S;
	o->serve_ns = o->serve_ns ? o->serve_ns : SERVE_S * NS_PER_S;
	o->wait = o->wait ? o->wait : 1;
}

static void list_agents(struct launch *L)
{
	const host_list *hosts = L->o.hosts;
	struct own_machine own;

	if (!hosts || !hosts->n) {
		if (!L->o.serve || !L->o.no_local)
			agents_add(L, "localhost", true);
		return;
	}
	own_machine_init(&own, L->o.srun ? "srun" : L->o.rsh, hosts->n, L->a);
	for (size_t i = 0; i < hosts->n; i++)
		agents_add(L, hosts->v[i].name, own_machine_is(&own, hosts->v[i].name));
}

static void on_ping(struct loop *l, struct timer *t)
{
	struct err ignored;

	ranks_tell(CONTAINER_OF(l, struct launch, loop), ORDER_PING, 0);
	(void)!loop_arm(l, t, AGENT_PING_S * NS_PER_S, &ignored);
}

static void on_tick(struct loop *l, struct timer *t)
{
	struct launch *L = CONTAINER_OF(t, struct launch, tick);
	struct err ignored;

	L->o.tick(L->o.tick_arg);
	(void)!loop_arm(l, t, NS_PER_S, &ignored);
}

int launch_init(struct launch *L, struct err *e)
{
	if (loopback_check(e) < 0) /* our own streams meet the server there */
		return -1;
	set_defaults(L);
	open_files_raise();
	TAILQ_INIT(&L->visitors);
	if (loop_init(&L->loop, e) < 0 || token_new(&L->token, e) < 0)
		return -1;
	L->out = outlet_to(L->o.out_fd, &L->loop);
	L->err = outlet_to(L->o.err_fd, &L->loop);
	L->ping.fire = on_ping;
	list_agents(L);
	return loop_arm(&L->loop, &L->ping, AGENT_PING_S * NS_PER_S, e);
}

static void outlets_end(struct launch *L)
{
	outlets_confess(&L->out, &L->err);
	outlet_done(&L->out);
	outlet_done(&L->err);
}

void launch_done(struct launch *L)
{
	agents_done(L);
	rdzv_server_free(L->server);
	outlets_end(L);
	token_wipe(&L->token);
	loop_done(&L->loop);
}

/*
 * loop_run() has done its part once a signal came; what ranks still say and
 * how they end is worth a few seconds more. One event at a time, so that none
 * is stale.
 */
static void run_on(struct launch *L, uint64_t until_ns)
{
	struct loop *l = &L->loop;
	struct epoll_event ev;

	for (l->stopped = false; !l->stopped && now_ns() < until_ns;) {
		uint64_t next =
			l->nheap && l->heap[0]->at_ns < until_ns ? l->heap[0]->at_ns : until_ns;
		int n = epoll_wait(l->epfd, &ev, 1, ms_until(next));

		if (n == 1 && ev.data.ptr) {
			struct io *io = ev.data.ptr;

			io->ready(l, io, ev.events);
		}
		while (l->nheap && l->heap[0]->at_ns <= now_ns()) {
			struct timer *t = l->heap[0];

			loop_disarm(l, t);
			t->fire(l, t);
		}
	}
}

static void end_early(struct launch *L)
{
	(void)epoll_ctl(L->loop.epfd, EPOLL_CTL_DEL, interrupt_fd(), NULL); /* it stays readable */
	ranks_tell(L, ORDER_SIGNAL, interrupt_pending() == SIGINT ? SIGINT : SIGTERM);
	if (L->alive)
		run_on(L, now_ns() + WORDS_S * NS_PER_S);
	if (!L->alive)
		return;
	ranks_tell(L, ORDER_END, 0);
	run_on(L, now_ns() + END_S * NS_PER_S);
}

/* Where nobody was left to be told, nobody has told us either. */
static const char *first_death(const struct launch *L)
{
	for (size_t i = 0; i < L->r->nranks; i++) {
		const struct launch_rank *r = &L->r->ranks[i];

		if (r->ended && r->status < 0)
			return arena_printf(L->a, "rank %zu (%s, %s) died: %s", i,
					    r->host->hostname, r->host->addr, r->cause);
	}
	return NULL;
}

/* How ranks ended after a Ctrl-C says nothing about the cluster. */
static void merge(struct launch *L)
{
	struct launch_result *r = L->r;
	int lost = interrupt_pending() ? 3 : 1;

	if (!r->failure && !interrupt_pending())
		r->failure = first_death(L);
	r->code = r->failure ? 1 : interrupt_pending() ? 3 : 0;
	for (size_t i = 0; i < r->nranks; i++)
		r->code = launch_merge_codes(r->code,
					     r->ranks[i].status < 0 ? lost : r->ranks[i].status);
}

bool launch_unable(const struct launch_result *l, struct err *e)
{
	const struct launch_rank *r = l->unjoined;

	if (!r || r->host->trouble || (r->status != EXIT_UNABLE && r->status != EXIT_ABSENT))
		return false;
	err_set(e, r->status == EXIT_ABSENT ? ERR_ABSENT : ERR_SYS, "%s", l->failure);
	err_hint(e, "what it said itself is above%s",
		 strstr(l->failure, RDZV_NOT_FOUND) ? "" : ": its host lacks that");
	return true;
}

/* This machine is none of those that were waited for. */
static const char *who_joined(const struct launch *L)
{
	if (L->o.wait == 1)
		return "the other machine did not join";
	if (!L->joined)
		return arena_printf(L->a, "none of the %u other machines joined", L->o.wait);
	return arena_printf(L->a, "%zu of the %u other machines joined", L->joined, L->o.wait);
}

static void on_nobody(struct loop *l, struct timer *t UNUSED)
{
	struct launch *L = CONTAINER_OF(l, struct launch, loop);
	struct addr_text door;
	struct unit_buf b;

	L->r->fix = arena_printf(
		L->a, "portcheck %s   # on a machine where the line was pasted: is the way free?",
		addr_print_port(&L->r->door, &door));
	L->r->failure = arena_printf(L->a, "%s within %s%s%s", who_joined(L),
				     format_duration(&b, L->o.serve_ns), L->refused ? "; " : "",
				     L->refused ?: "");
	loop_stop(l);
}

static int gather(struct launch *L, struct err *e)
{
	if (L->o.serve) {
		L->grace.fire = on_nobody;
		if (door_open(L, e) < 0 || loop_arm(&L->loop, &L->grace, L->o.serve_ns, e) < 0)
			return -1;
	}
	if (agents_gather(L, e) < 0)
		return -1;
	loop_disarm(&L->loop, &L->grace);
	door_close(L);
	return 0;
}

static int run(struct launch *L, struct err *e)
{
	if (launch_init(L, e) < 0 || gather(L, e) < 0)
		return -1;
	if (interrupt_pending())
		return 0;
	if (ranks_place(L, e) < 0)
		return -1;
	if (L->r->failure)
		return 0;
	if (ranks_begin(L, e) < 0)
		return -1;
	L->tick.fire = on_tick;
	if (L->o.tick && loop_arm(&L->loop, &L->tick, NS_PER_S, e) < 0)
		return -1;
	if (loop_run(&L->loop, e) < 0)
		return -1;
	if (interrupt_pending())
		end_early(L);
	return 0;
}

int launch_run(const struct launch_opts *o, struct arena *a, struct launch_result *ret,
	       struct err *e)
{
	AUTO(launch_done) struct launch L = {.o = *o, .a = a, .r = ret, .loop.epfd = -1};
	void (*pipes)(int) = signal(SIGPIPE, SIG_IGN);
	int rc;

	*ret = (struct launch_result){0};
	rc = run(&L, e);
	outlets_end(&L);
	merge(&L);
	if (rc < 0)
		ret->code = err_exit_code(e);
	else if (o->judge)
		ret->code = o->judge(ret, o->judge_arg);
	(void)signal(SIGPIPE, pipes);
	return rc;
}
