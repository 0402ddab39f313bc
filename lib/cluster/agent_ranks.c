#include "lib/cluster/agent_ranks.h"

#include "lib/core/log.h"
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "lib/host/cgroup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

enum { DRAIN_MAX = 16, PATIENCE_MS = 500, STEP_MS = 5 };

static struct err ignored;

static bool listening(const struct agent *g) { return g->owed < AGENT_CREDIT; }

static void listen_to(struct agent *g, struct io *io, bool open)
{
	if (open && listening(g))
		(void)!loop_add(&g->loop, io, EPOLLIN, &ignored);
}

static void deafen(struct agent *g)
{
	for (int i = 0; i < g->started; i++) {
		loop_del(&g->loop, &g->ranks[i].out);
		loop_del(&g->loop, &g->ranks[i].err);
	}
}

void ranks_credit(struct agent *g, uint32_t n)
{
	bool before = listening(g);

	g->owed -= n < g->owed ? n : g->owed;
	for (int i = 0; !before && i < g->started; i++) {
		listen_to(g, &g->ranks[i].out, g->ranks[i].out_open);
		listen_to(g, &g->ranks[i].err, g->ranks[i].err_open);
	}
}

/* False when there is nothing more: for now, or for ever. */
static bool pass_on(struct agent_rank *r, struct io *io)
{
	struct agent *g = r->of;
	bool is_err = io == &r->err, *open = is_err ? &r->err_open : &r->out_open;
	char buf[AGENT_CHUNK];
	ssize_t n = *open ? read(io->fd, buf, sizeof(buf)) : -1;

	if (n <= 0) {
		*open &= n < 0 && (errno == EAGAIN || errno == EINTR);
		if (!*open)
			loop_del(&g->loop, io);
		return false;
	}
	link_sendf(&g->link, is_err ? SAY_ERR : SAY_OUT, (uint32_t)(r - g->ranks), buf, (size_t)n);
	g->owed += (size_t)n;
	if (!listening(g))
		deafen(g);
	return true;
}

static void on_out(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	(void)pass_on(CONTAINER_OF(io, struct agent_rank, out), io);
}

static void on_err(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	(void)pass_on(CONTAINER_OF(io, struct agent_rank, err), io);
}

/* Who killed it: the kernel, which counts those; else somebody. */
static const char *why_killed(struct agent *g, int sig)
{
	const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t limit;
	struct unit_buf b;

	if (sig != SIGKILL || cgroup_memory_kills() <= g->memory_kills)
		return "";
	g->memory_kills++;
	limit = cgroup_memory().most;
	return limit >= all ? "out of memory"
			    : arena_printf(&g->a, "out of memory: its control group allows %s",
					   format_size(&b, limit));
}

static bool collect(struct agent_rank *r)
{
	struct agent *g = r->of;
	unsigned char buf[128];
	struct wire_out w = {buf, 0, sizeof(buf), false};
	int status, sig;

	if (!r->child.pid || !child_ended(&r->child, &status, &sig))
		return false;
	for (int i = 0; i < DRAIN_MAX && pass_on(r, &r->out); i++)
		;
	for (int i = 0; i < DRAIN_MAX && pass_on(r, &r->err); i++)
		;
	loop_del(&g->loop, &r->out);
	loop_del(&g->loop, &r->err);
	loop_del(&g->loop, &r->exit);
	r->out_open = r->err_open = false;
	child_done(&r->child);
	r->out.fd = r->err.fd = r->exit.fd = -1; /* another file may have those numbers soon */
	g->running--;
	wire_put_u32(&w, (uint32_t)(r - g->ranks));
	wire_put_u32(&w, (uint32_t)status);
	wire_put_u32(&w, (uint32_t)sig);
	wire_put_str(&w, why_killed(g, sig));
	link_send(&g->link, SAY_EXITED, buf, w.n);
	return true;
}

static void on_exit_fd(struct loop *l UNUSED, struct io *io, uint32_t events UNUSED)
{
	(void)collect(CONTAINER_OF(io, struct agent_rank, exit));
}

static void set_number(const char *name, int n)
{
	char s[16];

	snprintf(s, sizeof(s), "%d", n);
	(void)setenv(name, s, 1);
}

/* A pipe that a rank inherits and reads: no other user can open it, and no limit of files or
 * filter of system calls is in its way. */
static int token_fd(const struct token *t, struct err *e)
{
	int ends[2];
	ssize_t n;

	if (pipe(ends))
		return err_sys(e, "cannot hand the token to a rank");
	n = write(ends[1], t->bytes, sizeof(t->bytes));
	(void)close(ends[1]);
	if (n == sizeof(t->bytes))
		return ends[0];
	err_sys(e, "cannot hand the token to a rank");
	(void)close(ends[0]);
	return -1;
}

static const char *data_addr(struct agent *g)
{
	const struct agent_orders *o = &g->orders;
	union addr peer;
	bool told = *o->peer && !addr_parse(o->peer, &peer);

	if (*o->data_addr)
		return o->data_addr;
	return agent_data_addr(told ? &peer : g->joined ? &g->peer : NULL, &g->a);
}

/* Our own environment becomes the ranks': there is nothing else we need it for. */
static void set_world(struct agent *g)
{
	const struct agent_orders *o = &g->orders;
	const char *addr = data_addr(g);

	for (size_t i = 0; i < o->env.n; i++) {
		const char *eq = strchr(o->env.v[i], '=');

		if (eq && eq != o->env.v[i])
			(void)setenv(arena_strndup(&g->a, o->env.v[i], (size_t)(eq - o->env.v[i])),
				     eq + 1, 1);
	}
	set_number("WINDSOCK_WORLD_SIZE", o->size);
	set_number("WINDSOCK_LOCAL_SIZE", o->count);
	set_number("WINDSOCK_NODE_RANK", o->node);
	set_number("WINDSOCK_NODES", o->nodes);
	set_number("WINDSOCK_MASTER_PORT", o->port ? o->port : addr_port(&g->listener.at));
	(void)setenv("WINDSOCK_MASTER_ADDR", "127.0.0.1", 1);
	(void)setenv("WINDSOCK_DATA_ADDR", addr, 1);
	(void)setenv("WINDSOCK_RUN", o->run, 1);
}

static int start_one(struct agent *g, struct agent_rank *r, char *const *argv, struct err *e)
{
	int i = (int)(r - g->ranks);
	AUTO_CLOSE int token = token_fd(&g->orders.token, e);

	if (token < 0)
		return -1;
	set_number("WINDSOCK_TOKEN_FD", token);
	set_number("WINDSOCK_RANK", g->orders.first + i);
	set_number("WINDSOCK_LOCAL_RANK", i);
	if (child_start(&r->child, argv, e) < 0)
		return -1;
	r->of = g;
	r->out = (struct io){.fd = r->child.out, .ready = on_out};
	r->err = (struct io){.fd = r->child.err, .ready = on_err};
	r->exit = (struct io){.fd = r->child.exit_fd, .ready = on_exit_fd};
	r->out_open = r->err_open = true;
	g->started++;
	g->running++;
	listen_to(g, &r->out, true);
	listen_to(g, &r->err, true);
	return loop_add(&g->loop, &r->exit, EPOLLIN, e);
}

/* Ours, whatever its file is called, or one beside ours: orders never name a program elsewhere. */
static char *const *rank_argv(struct agent *g)
{
	const char *command = g->orders.command;
	const char *own = streq(command, log_tool()) ? agent_own_path(&g->a) : NULL;
	str_list argv = {0};

	*LIST_ADD(&g->a, &argv) = own ?: self_beside(&g->a, command) ?: command;
	for (size_t i = 0; i < g->orders.args.n; i++)
		*LIST_ADD(&g->a, &argv) = g->orders.args.v[i];
	*LIST_ADD(&g->a, &argv) = NULL;
	return (char *const *)(void *)argv.v;
}

int ranks_start(struct agent *g, struct err *e)
{
	char *const *argv = rank_argv(g);
	int rc = 0;

	g->ranks = arena_alloc(&g->a, (size_t)g->orders.count * sizeof(*g->ranks));
	set_world(g);
	g->memory_kills = cgroup_memory_kills();
	for (int i = 0; i < g->orders.count && !rc; i++)
		rc = start_one(g, &g->ranks[i], argv, e);
	token_wipe(&g->orders.token);
	if (rc)
		ranks_done(g);
	return rc;
}

void ranks_signal(struct agent *g, int sig)
{
	for (int i = 0; i < g->started; i++)
		child_signal(&g->ranks[i].child, sig);
}

void ranks_end(struct agent *g)
{
	ranks_signal(g, SIGTERM);
	ranks_signal(g, SIGCONT); /* a stopped one would not hear it */
}

static void wait_for_ends(struct agent *g)
{
	for (int ms = 0; ms < PATIENCE_MS && g->running; ms += STEP_MS) {
		for (int i = 0; i < g->started; i++)
			(void)collect(&g->ranks[i]);
		if (g->running)
			(void)poll(NULL, 0, STEP_MS);
	}
}

void ranks_done(struct agent *g)
{
	if (g->running) {
		ranks_end(g);
		wait_for_ends(g);
		ranks_signal(g, SIGKILL);
		wait_for_ends(g);
	}
}
