#include "bench/train/where.h"

#include "bench/ranks/mpirun.h"

#include <inttypes.h>

#define AT(field) .off = offsetof(struct where, field)

const struct opt where_rows[WHERE_NROWS] = {
	{.help = "Where the ranks are (else: two here, or what torchrun, srun or mpirun started)"},
	{0, "np", "N", "ranks in all", OPT_UINT, AT(np), .min = 1, .max = 4096},
	{0, "np-per-host", "N", "ranks on each host", OPT_UINT, AT(np_per_host), .min = 1,
	 .max = 4096},
	{0, "hosts", "LIST",
	 "start them there over ssh: a list, a Slurm hostlist, a hostfile, or the word lab",
	 OPT_STR, AT(hosts), .complete = OPT_C_HOSTS},
	{0, "rsh", "CMD", "instead of ssh", OPT_STR, AT(rsh), .env = "WINDSOCK_RSH"},
	{0, "srun", NULL, "start them with srun, in an allocation of Slurm's", OPT_BOOL, AT(srun)},
	{0, "copy-self", NULL, "hosts that have not this program get it, removed afterwards",
	 OPT_BOOL, AT(copy_self)},
	{0, "keep", NULL, "--copy-self: leave it there, for the next time", OPT_BOOL, AT(keep)},
	{0, "partial", NULL, "leave hosts out that cannot be reached", OPT_BOOL, AT(partial)},
	{0, "parallel", "N", "hosts being reached at a time", OPT_UINT, AT(parallel), .max = 4096,
	 .def = "32"},
	{0, "serve", NULL, "print a line to paste on the other machines; no ssh", OPT_BOOL,
	 AT(serve)},
	{0, "wait", "N", "with --serve: how many machines will join", OPT_UINT, AT(wait), .min = 1,
	 .max = 4096, .def = "1"},
	{0, "wait-time", "TIME", "with --serve: the longest wait for them", OPT_DURATION,
	 AT(serve_ns), .def = "10m"},
	{0, "port", "PORT", "with --serve: where they join", OPT_UINT, AT(port), .min = 1,
	 .max = 65535, .def = "29499"},
	{0, "no-local", NULL, "with --serve: this machine has no rank", OPT_BOOL, AT(no_local)},
	{0, "init", "URL", "meet as PyTorch does: tcp://HOST:PORT, file:///PATH, env://", OPT_STR,
	 AT(init)},
	{0, "rank", "N", "with --init: which rank this is", OPT_UINT, AT(rank), .max = 1 << 20},
	{0, "world-size", "N", "with --init: of how many", OPT_UINT, AT(size), .min = 1,
	 .max = 1 << 20},
	{0, "heartbeat", "TIME", "a rank that is silent for so long is lost", OPT_DURATION,
	 AT(heartbeat_ns), .min = 100 * 1000 * 1000, .def = "10s"},
	{0, "require-token", NULL, "refuse ranks without WINDSOCK_TOKEN", OPT_BOOL,
	 AT(require_token)},
};
static const char *get_env(const char *name, void *arg UNUSED) { return getenv(name); }

/* A rank of an mpirun of ours has the options of the command that started it. */
static bool is_launching(const struct where *w)
{
	return !mpirun_relays() && (w->np || w->np_per_host || w->hosts || w->serve || w->srun);
}

bool where_is_bare(const struct where *w) { return !w->init && !is_launching(w); }

static int number(uint64_t n) { return n == WHERE_NOT_GIVEN ? -1 : (int)n; }

static int check(const struct where *w, struct err *e)
{
	const struct {
		bool given, base;
		const char *name, *needs;
	} needed[] = {
		{w->wait, w->serve, "--wait", "--serve"},
		{w->port, w->serve, "--port", "--serve"},
		{w->serve_ns, w->serve, "--wait-time", "--serve"},
		{w->no_local, w->serve, "--no-local", "--serve"},
		{w->partial, w->hosts || w->srun, "--partial", "--hosts"},
		{w->copy_self, w->hosts || w->srun, "--copy-self", "--hosts"},
		{w->keep, w->hosts || w->srun, "--keep", "--hosts"},
		{w->rank != WHERE_NOT_GIVEN, w->init, "--rank", "--init"},
		{w->size != WHERE_NOT_GIVEN, w->init, "--world-size", "--init"},
	};

	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (needed[i].given && !needed[i].base)
			return err_set(e, ERR_USAGE, "%s needs %s", needed[i].name,
				       needed[i].needs);
	if (w->init && is_launching(w))
		return err_set(e, ERR_USAGE,
			       "--init is for ranks that are started one by one: not with --np, "
			       "--hosts or --serve");
	if (w->hosts && w->serve)
		return err_set(e, ERR_USAGE, "--hosts and --serve cannot be combined");
	return 0;
}

/* How many ranks we are going to start; 0: whoever joins decides. */
static int count(const struct where *w, struct arena *a, uint64_t *ret, struct err *e)
{
	host_list hosts = {0};
	unsigned *counts;

	*ret = w->np;
	if (!w->np && w->serve)
		*ret = w->np_per_host * ((w->wait ? w->wait : 1) + !w->no_local);
	if (!w->np && !w->serve && !w->hosts)
		*ret = w->np_per_host ? w->np_per_host : w->bare ? w->bare : 2;
	if (!w->hosts)
		return 0;
	if (hosts_from_arg(w->hosts, a, &hosts, e))
		return -1;
	counts = arena_alloc(a, hosts.n * sizeof(*counts));
	if (launch_place(&hosts, (unsigned)w->np, (unsigned)w->np_per_host, counts, e))
		return -1;
	*ret = 0;
	for (size_t i = 0; i < hosts.n; i++)
		*ret += counts[i];
	return 0;
}

int where_role(const struct where *w, struct arena *a, struct where_role *ret, struct err *e)
{
	struct world world;

	*ret = (struct where_role){.rank = -1};
	if (check(w, e))
		return -1;
	world_from_env(get_env, NULL, a, &world);
	ret->relayed = mpirun_relays();
	ret->ours = world.launcher == LAUNCHER_WINDSOCK || ret->relayed;
	if (w->init && !ret->ours &&
	    world_from_init(w->init, number(w->rank), number(w->size), get_env, NULL, a, &world, e))
		return -1;
	ret->is_rank =
		ret->ours || w->init || (world.launcher != LAUNCHER_NONE && !is_launching(w));
	if (!ret->is_rank)
		return count(w, a, &ret->size, e);
	ret->rank = world.rank;
	ret->size = world.size > 0 ? (uint64_t)world.size : 0;
	return 0;
}

struct world_opts where_world(const struct where *w, uint64_t deadline_ns)
{
	return (struct world_opts){.init = w->init,
				   .rank = number(w->rank),
				   .size = number(w->size),
				   .launching = is_launching(w),
				   .require_token = w->require_token,
				   .device = "cpu",
				   .deadline_ns = deadline_ns,
				   .heartbeat_ns = w->heartbeat_ns};
}

int where_launch(const struct where *w, uint64_t deadline_ns, struct arena *a,
		 struct launch_opts *ret, struct err *e)
{
	host_list *hosts = ARENA_NEW(a, host_list);

	if (w->hosts && hosts_from_arg(w->hosts, a, hosts, e))
		return -1;
	*ret = (struct launch_opts){
		.hosts = hosts,
		.rsh = w->rsh,
		.srun = w->srun,
		.copy_self = w->copy_self || w->keep,
		.keep = w->keep,
		.partial = w->partial,
		.parallel = (unsigned)w->parallel,
		.serve = w->serve,
		.serve_port = (uint16_t)w->port,
		.wait = (unsigned)w->wait,
		.no_local = w->no_local,
		.np = (unsigned)w->np,
		.np_per_host = (unsigned)w->np_per_host,
		.deadline_ns = deadline_ns,
		.serve_ns = w->serve_ns,
		.heartbeat_ns = w->heartbeat_ns,
	};
	if (where_is_bare(w))
		ret->np = w->bare ? (unsigned)w->bare : 2;
	return 0;
}
