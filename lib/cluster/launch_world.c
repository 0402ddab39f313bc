/* What a command's main asks before anything else: am I a rank, and of what? */
#include "lib/cluster/launch_world.h"

#include "lib/cluster/open_files.h"
#include "lib/cluster/rdzv_messages.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/net/own_addr.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>

enum { DEADLINE_S = 30, HEARTBEAT_S = 10, EXCUSE_S = 3, PORTS = 8, HOST_NAME = 256 };
static const struct world_run nowhere = {.server.alive = -1, .lock = -1};
static bool was_asked; /* a process is in one world */

void meeting_note(struct meeting *m, const char *fmt, ...)
{
	va_list ap;
	size_t i = 0;

	while (m->run->notes[i])
		i++;
	if (i + 1 >= ARRAY_LEN(m->run->notes))
		return;
	va_start(ap, fmt);
	m->run->notes[i] = arena_vprintf(m->a, fmt, ap);
	va_end(ap);
}

/* ---- a rank of our own agent ---- */
/* It was written before we began: nobody waits for it. */
static bool read_token(int fd, struct token *ret)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 &&
	       read(fd, ret->bytes, sizeof(ret->bytes)) == sizeof(ret->bytes);
}

static int inherited_token(struct token *ret, struct err *e)
{
	const char *s = getenv("WINDSOCK_TOKEN_FD");
	uint64_t fd;

	if (!s || parse_uint(s, &fd) < 0 || fd > INT32_MAX || !read_token((int)fd, ret)) {
		err_set(e, ERR_USAGE,
			"WINDSOCK_RANK is set, but no agent of ours started this process");
		return err_hint(e,
				"unset WINDSOCK_RANK: only `--np`, `--hosts` and `--serve` set it");
	}
	(void)close((int)fd); /* for us alone, not for what we start */
	(void)unsetenv("WINDSOCK_TOKEN_FD");
	(void)unsetenv("WINDSOCK_RANK");
	return 0;
}

static int meet_ours(struct meeting *m, struct err *e)
{
	const struct world *w = &m->run->world;

	if (inherited_token(&m->token, e) < 0)
		return -1;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* no last words that look like a Ctrl-C */
	m->sealed = true;
	if (!w->master_addr || addr_parse(w->master_addr, &m->join.server) < 0)
		return err_set(e, ERR_USAGE, "WINDSOCK_MASTER_ADDR is not an address");
	addr_set_port(&m->join.server, w->master_port);
	m->data_addr = getenv("WINDSOCK_DATA_ADDR");
	return 0;
}

/* ---- a rank of a foreign launcher ---- */
static int foreign_token(struct meeting *m, struct err *e)
{
	const char *code = getenv("WINDSOCK_TOKEN");

	if (code && *code) {
		m->sealed = true;
		if (token_parse(code, &m->token, e) == 0)
			return 0;
		return err_hint(
			e, "WINDSOCK_TOKEN takes the same code on every rank: what `" TOKEN_RECIPE
			   "` prints once");
	}
	if (!m->o->require_token)
		return 0;
	err_set(e, ERR_USAGE, "--require-token, and WINDSOCK_TOKEN is not set");
	return err_hint(e, "export the same WINDSOCK_TOKEN to every rank: what `" TOKEN_RECIPE
			   "` prints once");
}

/* The server's ports: the master's and those behind it, or from beside it where it is taken. */
static int first_port(const struct world *w, uint16_t *ret, struct err *e)
{
	const char *s = getenv("WINDSOCK_PORT");
	uint64_t port =
		w->master_port ? (uint64_t)w->master_port + w->master_port_held : LAUNCH_PORT;

	if (s && *s && (parse_uint(s, &port) < 0 || !port || port > UINT16_MAX))
		return err_set(e, ERR_USAGE, "WINDSOCK_PORT is '%.40s', not a port", s);
	if (port > UINT16_MAX - PORTS) /* no room behind it: before it */
		port -= PORTS + w->master_port_held;
	*ret = (uint16_t)port;
	return 0;
}

/* Every address of the name leads to that port; ours is another one as seen from each. */
static void finish_ways(struct meeting *m, uint16_t port)
{
	addr_set_port(&m->join.server, port);
	for (size_t i = 0; i < m->nothers; i++) {
		addr_set_port(&m->others[i].server, port);
		m->others[i].data_addr = agent_data_addr(&m->others[i].server, m->a);
	}
	m->join.others = m->others;
	m->join.nothers = m->nothers;
}

int meeting_host(struct meeting *m, const union addr *at, unsigned ports, struct err *e)
{
	struct rdzv_server_opts so = {
		.size = m->run->world.size,
		.token = m->sealed ? &m->token : NULL,
		.run = m->run->world.run,
		.join_deadline_ns = m->o->deadline_ns,
		.deadline_given = m->o->deadline_given,
		.heartbeat_ns = m->o->heartbeat_ns,
		.at = *at,
		.ports = ports,
	};

	return rdzv_host_start(&m->run->server, &so, e);
}

/*
 * Whoever writes a loopback address means this host alone. A name that leads there may be another
 * address to everybody else: Debian's /etc/hosts has a host's own at 127.0.1.1.
 */
static bool is_for_us_alone(const struct meeting *m)
{
	const struct world *w = &m->run->world;
	union addr written;

	return addr_class(&m->join.server) == ADDR_LOOPBACK &&
	       (w->size == 1 || w->local_size == w->size ||
		starts_with(w->master_addr, "localhost") || starts_with(w->master_addr, "ip6-l") ||
		!addr_parse(w->master_addr, &written));
}

/* "localhost" may be ::1 first, where this host has no IPv6. */
static int host_alone(struct meeting *m, struct err *e)
{
	struct err other = {0};

	if (!meeting_host(m, &m->join.server, m->join.ports, e))
		return 0;
	for (size_t i = 0; i < m->nothers; i++)
		if (addr_class(&m->others[i].server) == ADDR_LOOPBACK &&
		    !meeting_host(m, &m->others[i].server, m->join.ports, &other)) {
			*e = (struct err){0};
			return 0;
		}
	return -1;
}

static int host_foreign(struct meeting *m, struct err *e)
{
	union addr any = {.v6 = {.sin6_family = AF_INET6}};
	union addr any4 = {.v4 = {.sin_family = AF_INET}};
	uint16_t port = addr_port(&m->join.server);

	addr_set_port(&any, port);
	addr_set_port(&any4, port);
	if (is_for_us_alone(m))
		return host_alone(m, e);
	if (meeting_host(m, &any, m->join.ports, e) &&
	    meeting_host(m, &any4, m->join.ports, e)) /* a host without IPv6 */
		return -1;
	if (!m->sealed)
		meeting_note(m,
			     "whoever reaches port %u of this host can take part in this run; "
			     "set the same WINDSOCK_TOKEN for every rank to prevent that",
			     m->run->server.port);
	return 0;
}

static int meet_foreign(struct meeting *m, struct err *e)
{
	const struct world *w = &m->run->world;
	uint16_t port = 0;

	if (w->trouble)
		return err_set(e, ERR_USAGE, "%s", w->trouble);
	if (foreign_token(m, e) < 0)
		return -1;
	if (w->master_is_us)
		m->run->world.master_addr = agent_data_addr(NULL, m->a);
	if (w->rank == 0 && w->launcher != LAUNCHER_INIT)
		meeting_note(m, "started by %s (%s)", launcher_name(w->launcher), w->from);
	if (w->rank == 0 && w->note && w->master_addr)
		meeting_note(m, "%s", w->note);
	if (w->init_file)
		return meeting_by_file(m, e);
	if (meeting_master(m, e) < 0 || first_port(w, &port, e) < 0)
		return -1;
	finish_ways(m, port);
	m->join.ports = PORTS;
	if (w->rank == 0) {
		if (host_foreign(m, e) < 0)
			return -1;
		meeting_look_at_port(m);
	}
	m->data_addr = addr_class(&m->join.server) == ADDR_LOOPBACK && w->local_size == w->size
			       ? "127.0.0.1"
			       : agent_data_addr(&m->join.server, m->a);
	return 0;
}

/* ---- both ---- */
static bool is_master_own(const struct meeting *m)
{
	bool own = own_addr(&m->join.server);

	for (size_t i = 0; i < m->nothers; i++)
		own |= own_addr(&m->others[i].server);
	return own;
}

/* Somebody else's launcher has rank 0 keep the rendezvous, so it is that one who is missing. */
static void name_the_keeper(const struct meeting *m, struct err *e)
{
	const struct err was = *e;

	if (!m->run->world.rank || m->run->world.launcher == LAUNCHER_WINDSOCK ||
	    !starts_with(was.msg, RDZV_NOT_FOUND))
		return;
	(void)err_set(e, was.kind, "rank 0 was not reached: %s", was.msg);
	(void)err_hint_of(e, &was);
}

/* Rank 0 keeps the rendezvous here, and was itself sent elsewhere: behind an address translation
 * that is right, and it would have found itself. */
static void look_at_master(const struct meeting *m, struct err *e)
{
	const struct world *w = &m->run->world;
	struct addr_text t;

	if (w->rank || !m->run->server.pid || !starts_with(e->msg, RDZV_NOT_FOUND) ||
	    is_master_own(m))
		return;
	(void)addr_print(&m->join.server, &t);
	err_set(e, ERR_SYS,
		"rank 0 is on this host, and the address given for it, %s%s%s%s, is none of this "
		"host's: give all ranks %s as rank 0's (MASTER_ADDR), or start rank 0 there",
		w->master_addr, streq(t.s, w->master_addr) ? "" : " (",
		streq(t.s, w->master_addr) ? "" : t.s, streq(t.s, w->master_addr) ? "" : ")",
		m->data_addr);
	(void)err_command(e, "export MASTER_ADDR=%s   # for every rank", m->data_addr);
}

static int join(struct meeting *m, struct err *e)
{
	const struct world *w = &m->run->world;
	char host[HOST_NAME] = "";

	(void)gethostname(host, sizeof(host) - 1);
	m->join.token = m->sealed ? &m->token : NULL;
	m->join.run = w->run;
	m->join.rank = w->rank;
	m->join.size = w->size;
	m->join.local_rank = w->local_rank;
	m->join.host = host;
	m->join.data_addr = m->data_addr;
	m->join.device = m->o->device;
	m->join.silence_ns = m->silence_ns;
	m->join.excuse = m->excuse;
	m->join.hosts = m->run->server.pid > 0;
	m->join.deadline_ns = m->o->deadline_ns;
	m->join.ret_missing = &m->run->missing;
	if (w->init_file && w->rank)
		m->join.ret_stale = &m->stale;
	m->run->rdzv = rdzv_join(&m->join, e);
	if (m->run->rdzv)
		meeting_end_file(m->run);
	if (!m->run->rdzv && m->run->missing) {
		look_at_master(m, e);
		name_the_keeper(m, e);
	}
	return m->run->rdzv ? 0 : -1;
}

/* What a file names may be gone, and the next run's the next moment. */
static int take_part(struct meeting *m, struct err *e)
{
	const bool ours = m->run->world.launcher == LAUNCHER_WINDSOCK;
	int rc;

	m->until_ns = now_ns() + m->o->deadline_ns;
	do {
		*e = (struct err){0};
		m->stale = false;
		rc = ours ? meet_ours(m, e) : meet_foreign(m, e);
		rc = rc < 0 ? rc : join(m, e);
	} while (rc < 0 && m->stale && now_ns() < m->until_ns && !interrupt_pending());
	return rc;
}

static int decide(const struct world_opts *o, struct arena *a, struct world *w, struct err *e)
{
	const struct world_init said = {.url = o->init, .rank = o->rank, .size = o->size};

	if (o->init && !getenv("WINDSOCK_RANK"))
		return world_from_init(&said, world_own_env, NULL, a, w, e);
	world_from_env(world_own_env, NULL, a, w);
	if (w->launcher == LAUNCHER_WINDSOCK && w->trouble)
		return err_set(e, ERR_USAGE, "%s", w->trouble);
	if (o->launching && w->launcher != LAUNCHER_WINDSOCK)
		*w = (struct world){.launcher = LAUNCHER_NONE, .rank = -1, .size = -1};
	return 0;
}

int world_start(const struct world_opts *o, struct arena *a, struct world_run *ret, struct err *e)
{
	struct world_opts opts = *o;
	struct meeting m = {.o = &opts, .a = a, .run = ret, .silence_ns = o->heartbeat_ns};
	const struct world *w = &ret->world;
	int rc;

	opts.deadline_ns = o->deadline_ns ? o->deadline_ns : DEADLINE_S * NS_PER_S;
	opts.heartbeat_ns = o->heartbeat_ns ? o->heartbeat_ns : HEARTBEAT_S * NS_PER_S;
	*ret = nowhere;
	was_asked = true;
	if (decide(o, a, &ret->world, e) < 0)
		return -1;
	if (w->launcher == LAUNCHER_NONE)
		return w->trouble ? err_set(e, ERR_USAGE, "%s", w->trouble) : 0;
	open_files_raise(); /* srun and sshd hand on 1024 */
	rc = take_part(&m, e);
	token_wipe(&m.token);
	if (rc < 0)
		world_stop(ret, NULL);
	return rc;
}

/* Several of somebody else's: of ours the agent says how they end. */
static bool waits_for_us(const struct world *w)
{
	return w->launcher != LAUNCHER_NONE && w->launcher != LAUNCHER_WINDSOCK && !w->trouble &&
	       w->size > 1 && w->rank >= 0;
}

void world_decline(const struct world_opts *o, const char *why)
{
	AUTO(arena_done) struct arena a = {0};
	struct world_opts opts = *o;
	struct world_run run = nowhere;
	struct meeting m = {.o = &opts, .a = &a, .run = &run, .excuse = why};
	struct err ignored = {0};

	if (was_asked || decide(o, &a, &run.world, &ignored) < 0 || !waits_for_us(&run.world))
		return;
	opts.deadline_ns = EXCUSE_S * NS_PER_S;
	(void)!take_part(&m, &ignored); /* it fails: with what it said, or unheard */
	token_wipe(&m.token);
	world_stop(&run, NULL);
}

void world_stop(struct world_run *r, const char *reason)
{
	rdzv_leave(r->rdzv, reason);
	r->rdzv = NULL;
	if (r->server.pid)
		rdzv_host_done(&r->server);
	meeting_end_file(r);
	auto_closep(&r->lock);
	r->lock = -1;
}
