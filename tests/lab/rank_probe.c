/*
 * A command that has ranks and nothing else: launched by our own launcher or by
 * a foreign one, each rank says who it is, or does what tests want to see.
 *
 *	rank_probe [--np N] [--hosts LIST] [...] -- who | gather | exit CODE... |
 *		hang | children | spew LINES | die SIGNAL RANK | token
 */
#include "lib/cluster/launch.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/opt.h"
#include "lib/core/units.h"

#include <poll.h>
#include <signal.h>

struct cfg {
	struct launch_opts launch;
	struct world_opts world;
	const char *hosts, *init;
	uint64_t np, np_per_host, wait, port, parallel, rank, size;
};
#define NONE UINT64_MAX

static const struct opt rows[] = {
	{.name = "np", .metavar = "N", .type = OPT_UINT, .off = offsetof(struct cfg, np)},
	{.name = "np-per-host",
	 .metavar = "N",
	 .type = OPT_UINT,
	 .off = offsetof(struct cfg, np_per_host)},
	{.name = "hosts", .metavar = "LIST", .type = OPT_STR, .off = offsetof(struct cfg, hosts)},
	{.name = "rsh", .metavar = "CMD", .type = OPT_STR, .off = offsetof(struct cfg, launch.rsh)},
	{.name = "srun", .type = OPT_BOOL, .off = offsetof(struct cfg, launch.srun)},
	{.name = "serve", .type = OPT_BOOL, .off = offsetof(struct cfg, launch.serve)},
	{.name = "port", .metavar = "PORT", .type = OPT_UINT, .off = offsetof(struct cfg, port)},
	{.name = "wait", .metavar = "N", .type = OPT_UINT, .off = offsetof(struct cfg, wait)},
	{.name = "wait-time",
	 .metavar = "T",
	 .type = OPT_DURATION,
	 .off = offsetof(struct cfg, launch.serve_ns)},
	{.name = "no-local", .type = OPT_BOOL, .off = offsetof(struct cfg, launch.no_local)},
	{.name = "partial", .type = OPT_BOOL, .off = offsetof(struct cfg, launch.partial)},
	{.name = "copy-self", .type = OPT_BOOL, .off = offsetof(struct cfg, launch.copy_self)},
	{.name = "keep", .type = OPT_BOOL, .off = offsetof(struct cfg, launch.keep)},
	{.name = "raw", .type = OPT_BOOL, .off = offsetof(struct cfg, launch.raw)},
	{.name = "parallel",
	 .metavar = "N",
	 .type = OPT_UINT,
	 .off = offsetof(struct cfg, parallel)},
	{.name = "deadline",
	 .metavar = "T",
	 .type = OPT_DURATION,
	 .off = offsetof(struct cfg, launch.deadline_ns)},
	{.name = "heartbeat",
	 .metavar = "T",
	 .type = OPT_DURATION,
	 .off = offsetof(struct cfg, launch.heartbeat_ns)},
	{.name = "init", .metavar = "URL", .type = OPT_STR, .off = offsetof(struct cfg, init)},
	{.name = "rank", .metavar = "R", .type = OPT_UINT, .off = offsetof(struct cfg, rank)},
	{.name = "world-size", .metavar = "N", .type = OPT_UINT, .off = offsetof(struct cfg, size)},
	{.name = "require-token",
	 .type = OPT_BOOL,
	 .off = offsetof(struct cfg, world.require_token)},
};

static int report(const struct err *e)
{
	log_error("%s", e->msg);
	if (*e->hint)
		log_hint("%s", e->hint);
	return err_exit_code(e);
}

/* ---- a rank ---- */
static int rank_who(struct world_run *r, struct err *e)
{
	const struct world *w = &r->world;
	const struct rdzv_member *m;
	size_t n;

	if (rdzv_members(r->rdzv, &m, &n, e) < 0)
		return -1;
	printf("rank %d of %d, local %d of %d, node %d of %d, by %s, at %s", w->rank, w->size,
	       w->local_rank, w->local_size, w->node_rank, w->nodes, launcher_name(w->launcher),
	       m[w->rank].data_addr);
	for (size_t i = 0; i < n; i++)
		printf("%s%s", i ? " " : ", hosts ", m[i].host);
	printf("\n");
	return rdzv_barrier(r->rdzv, e);
}

static int rank_gather(struct world_run *r, struct err *e)
{
	int mine[64] = {r->world.rank * 3 + 1}, size = r->world.size, sum = 0;
	AUTO_FREE int *all = calloc((size_t)size, sizeof(mine));

	for (int round = 0; round < 20; round++) {
		if (rdzv_all_gather(r->rdzv, mine, sizeof(mine), all, e) < 0)
			return -1;
		for (int i = 0; i < size; i++)
			sum += all[64 * i] == i * 3 + 1;
	}
	printf("%d right\n", sum);
	return 0;
}

/* Prints its pid once everybody is there, then waits for the end of the world. */
static int rank_hang(struct world_run *r, struct err *e)
{
	struct pollfd p[2] = {{.fd = rdzv_failure_fd(r->rdzv), .events = POLLIN},
			      {.fd = interrupt_fd(), .events = POLLIN}};

	if (rdzv_barrier(r->rdzv, e) < 0)
		return -1;
	printf("pid %d\n", getpid());
	(void)fflush(stdout);
	while (!rdzv_failure(r->rdzv) && !interrupt_pending())
		(void)poll(p, 2, -1);
	if (interrupt_pending()) {
		printf("finished early\n");
		return interrupt_err(e);
	}
	return err_set(e, ERR_SYS, "%s", rdzv_failure(r->rdzv));
}

/* A daemon of a child, that nobody would miss. */
static int rank_children(struct world_run *r, struct err *e)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)setsid();
		pid = fork();
		if (pid == 0) {
			(void)signal(SIGTERM, SIG_IGN);
			(void)sleep(1000);
			_exit(0);
		}
		printf("pid %d\n", pid);
		(void)fflush(stdout);
		_exit(0);
	}
	return rank_hang(r, e);
}

static int rank_die(struct world_run *r, const str_list *words, struct err *e)
{
	uint64_t sig, who;

	if (words->n < 3 || parse_uint(words->v[1], &sig) < 0 || parse_uint(words->v[2], &who) < 0)
		return err_set(e, ERR_USAGE, "die SIGNAL RANK");
	if (rdzv_barrier(r->rdzv, e) < 0)
		return -1;
	if ((uint64_t)r->world.rank == who)
		(void)raise((int)sig);
	return rank_hang(r, e);
}

static int rank_spew(struct world_run *r, const str_list *words)
{
	uint64_t n = 0;

	(void)!parse_uint(words->n > 1 ? words->v[1] : "10", &n);
	for (uint64_t i = 0; i < n; i++)
		printf("%d: line %llu with some text behind it to make it longer\n", r->world.rank,
		       (unsigned long long)i);
	printf("%d: the last one has no end", r->world.rank);
	return 0;
}

static int rank_main(struct world_run *r, const str_list *words, struct err *e)
{
	const char *mode = words->n ? words->v[0] : "who";
	uint64_t code = 0;
	size_t k;

	for (size_t i = 0; r->notes[i]; i++)
		log_say("%s", r->notes[i]);
	if (streq(mode, "who"))
		return rank_who(r, e);
	if (streq(mode, "gather"))
		return rank_gather(r, e);
	if (streq(mode, "hang"))
		return rank_hang(r, e);
	if (streq(mode, "children"))
		return rank_children(r, e);
	if (streq(mode, "spew"))
		return rank_spew(r, words);
	if (streq(mode, "die"))
		return rank_die(r, words, e);
	if (streq(mode, "exit")) {
		if (rdzv_barrier(r->rdzv, e) < 0)
			return -1;
		k = (size_t)r->world.rank + 1;
		(void)!parse_uint(words->v[k < words->n ? k : words->n - 1], &code);
		return (int)code;
	}
	return err_set(e, ERR_USAGE, "what is %s?", mode);
}

/* ---- the launcher ---- */
static int launcher_main(struct cfg *c, char **argv, struct arena *a, struct err *e)
{
	struct launch_opts *o = &c->launch;
	struct launch_result r;
	host_list hosts = {0};

	if (c->hosts && hosts_from_arg(c->hosts, a, &hosts, e) < 0)
		return -1;
	o->hosts = &hosts;
	o->np = (unsigned)c->np;
	o->np_per_host = (unsigned)c->np_per_host;
	o->wait = (unsigned)c->wait;
	o->serve_port = (uint16_t)c->port;
	o->parallel = c->parallel;
	o->argv = (const char *const *)(void *)argv;
	o->out_fd = STDOUT_FILENO;
	o->err_fd = STDERR_FILENO;
	if (launch_run(o, a, &r, e) < 0)
		return -1;
	for (size_t i = 0; i < r.nhosts; i++)
		if (r.hosts[i].trouble)
			log_say("host %s: %s", r.hosts[i].name, r.hosts[i].trouble);
	for (size_t i = 0; i < r.nranks; i++)
		if (r.ranks[i].signal)
			log_say("rank %zu: signal %d", i, r.ranks[i].signal);
	if (r.failure)
		log_say("failed: %s", r.failure);
	log_say("code %d", r.code);
	return r.code;
}

int main(int argc, char **argv)
{
	static const struct command cmd = {.name = "rank_probe",
					   .summary = "says who its ranks are",
					   .synopsis = "[OPTIONS] -- MODE",
					   .operand = "MODE"};
	struct cfg c = {.rank = NONE, .size = NONE};
	const struct opt_table table = {rows, ARRAY_LEN(rows), &c};
	const struct opt_usage usage = {&cmd, &table, 1};
	AUTO(arena_done) struct arena a = {0};
	struct world_run run = {0};
	const char *answer = NULL;
	str_list words = {0};
	struct err e = {0};
	int code;

	log_init("rank_probe", LOG_NORMAL);
	if (launch_intercept(argc, argv, &code, &e))
		return e.kind == ERR_NONE ? code : report(&e);
	interrupt_install();
	if (opt_parse(&usage, argc, argv, &a, &words, &answer, &e) == OPT_ERROR)
		return report(&e);
	if (answer)
		return fputs(answer, stdout) < 0;
	c.world.launching = c.np || c.hosts || c.launch.serve;
	c.world.init = c.init;
	c.world.rank = c.rank == NONE ? -1 : (int)c.rank;
	c.world.size = c.size == NONE ? -1 : (int)c.size;
	c.world.deadline_ns = c.launch.deadline_ns;
	c.world.heartbeat_ns = c.launch.heartbeat_ns;
	if (world_start(&c.world, &a, &run, &e) < 0)
		return report(&e);
	code = run.rdzv ? rank_main(&run, &words, &e) : launcher_main(&c, argv, &a, &e);
	world_stop(&run, code < 0 ? e.msg : NULL);
	return code < 0 ? report(&e) : code;
}
