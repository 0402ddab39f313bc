#include "bench/train/where.h"

#include <inttypes.h>

static const char *get_env(const char *name, void *arg UNUSED) { return getenv(name); }

static bool is_launching(const struct where *w)
{
	return w->np || w->np_per_host || w->hosts || w->serve || w->srun;
}

static int number(uint64_t n) { return n == WHERE_NOT_GIVEN ? -1 : (int)n; }

static int check(const struct where *w, struct err *e)
{
	const struct {
		bool given, base;
		const char *name, *needs;
	} needed[] = {
		{w->wait, w->serve, "--wait", "--serve"},
		{w->port, w->serve, "--port", "--serve"},
		{w->no_local, w->serve, "--no-local", "--serve"},
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
		*ret = w->np_per_host ? w->np_per_host : 2;
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
	ret->ours = world.launcher == LAUNCHER_WINDSOCK;
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
		.serve = w->serve,
		.serve_port = (uint16_t)w->port,
		.wait = (unsigned)w->wait,
		.no_local = w->no_local,
		.np = (unsigned)w->np,
		.np_per_host = (unsigned)w->np_per_host,
		.deadline_ns = deadline_ns,
		.heartbeat_ns = w->heartbeat_ns,
	};
	if (!is_launching(w))
		ret->np = 2;
	return 0;
}
