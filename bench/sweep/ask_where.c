#include "bench/ranks/mpirun.h"
#include "bench/sweep/ask.h"
#include "lib/core/units.h"

static const uint64_t JOINING_NS = 30 * NS_PER_S;

/* Ranks are this program, whatever link it was called by. */
static const char *const *rank_argv(const struct ask_where *in, const char *coll, struct arena *a)
{
	str_list l = {0};

	*LIST_ADD(a, &l) = "ncclbench";
	*LIST_ADD(a, &l) = "--coll";
	*LIST_ADD(a, &l) = coll;
	for (char **arg = in->argv; *arg; arg++)
		*LIST_ADD(a, &l) = *arg;
	*LIST_ADD(a, &l) = NULL;
	return l.v;
}

static void fill_launch(const struct ask_where *in, const host_list *hosts, struct launch_opts *l)
{
	uint64_t each = in->threads * in->gpus;

	*l = (struct launch_opts){.hosts = hosts,
				  .rsh = in->rsh,
				  .srun = in->srun,
				  .serve = in->serve,
				  .serve_port = (uint16_t)in->port,
				  .wait = (unsigned)in->wait,
				  .no_local = in->no_local,
				  .parallel = in->parallel,
				  .partial = in->partial,
				  .copy_self = in->copy_self || in->keep,
				  .keep = in->keep,
				  .deadline_ns = JOINING_NS,
				  .serve_ns = in->serve_ns,
				  .heartbeat_ns = in->heartbeat_ns};
	l->np = (unsigned)(in->np * each);
	l->np_per_host = (unsigned)(in->np_per_host ? in->np_per_host * each : each > 1 ? each : 0);
	if (!hosts->n && !in->serve && !in->srun && !l->np)
		l->np = l->np_per_host ? l->np_per_host : in->gpus_here > 2 ? in->gpus_here : 2;
}

bool ask_is_bare(const struct ask_where *in)
{
	return !in->np && !in->np_per_host && !in->hosts && !in->serve && !in->srun && !in->init &&
	       in->threads * in->gpus == 1;
}

/* MPI's ranks have to be started by its own mpirun. */
static int ask_mpirun(const char *backend, struct arena *a, struct job_opts *ret, struct err *e)
{
	if (!starts_with(backend, "mpi") || job_is_rank())
		return 0;
	if (mpirun_plan(backend, &ret->launch, a, &ret->mpirun, e))
		return -1;
	ret->world.launching |= ret->mpirun != NULL;
	return 0;
}

static bool is_launching(const struct ask_where *in)
{
	return !job_is_rank() && (in->np || in->np_per_host || in->hosts || in->serve || in->srun);
}

/* What says more about something that was not asked for. */
static int check_bases(const struct ask_where *in, struct err *e)
{
	static const char serve[] = "--serve, which prints a line to paste on other machines";
	static const char init[] = "--init, as in --init tcp://10.0.0.1:29500 --rank 1 "
				   "--world-size 2";
	const struct {
		bool given, base;
		const char *name, *needs;
	} needed[] = {
		{in->wait, in->serve, "--wait", serve},
		{in->serve_ns, in->serve, "--wait-time", serve},
		{in->port, in->serve, "--port", serve},
		{in->no_local, in->serve, "--no-local", serve},
		{in->rank != ASK_NOT_GIVEN, in->init, "--rank", init},
		{in->size != ASK_NOT_GIVEN, in->init, "--world-size", init},
		{in->partial, in->hosts || in->srun, "--partial", "--hosts"},
		{in->copy_self, in->hosts || in->srun, "--copy-self", "--hosts"},
		{in->keep, in->hosts || in->srun, "--keep", "--hosts"},
	};

	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (needed[i].given && !needed[i].base)
			return err_set(e, ERR_USAGE, "%s goes with %s", needed[i].name,
				       needed[i].needs);
	if (in->init && is_launching(in))
		return err_set(e, ERR_USAGE,
			       "--init is for ranks that are started one by one: not with --np, "
			       "--hosts, --serve or --srun");
	if (in->hosts && in->serve)
		return err_set(e, ERR_USAGE,
			       "--hosts and --serve cannot be combined: the first "
			       "reaches the machines, the other waits for them");
	return 0;
}

int ask_where(const struct ask_where *in, const char *coll, const char *backend, struct arena *a,
	      struct job_opts *ret, struct err *e)
{
	uint64_t each = in->threads * in->gpus;
	host_list *hosts = ARENA_NEW(a, host_list);

	if (check_bases(in, e))
		return -1;
	if (each > ASK_RANKS_MAX || in->np * each > ASK_RANKS_MAX)
		return err_set(e, ERR_USAGE, "%zu ranks are more than %d",
			       (size_t)((in->np ? in->np : 1) * each), ASK_RANKS_MAX);
	/* a rank has no business with the list of hosts, which may not even be there */
	if (in->hosts && !job_is_rank() && hosts_from_arg(in->hosts, a, hosts, e))
		return -1;
	ret->world = (struct world_opts){
		.init = in->init,
		.rank = in->rank == ASK_NOT_GIVEN ? -1 : (int)in->rank,
		.size = in->size == ASK_NOT_GIVEN ? -1 : (int)in->size,
		.launching = is_launching(in),
		.require_token = in->require_token,
		.device = "host memory",
		.deadline_ns = in->init && in->deadline_ns ? in->deadline_ns : JOINING_NS,
		.heartbeat_ns = in->heartbeat_ns};
	fill_launch(in, hosts, &ret->launch);
	ret->launch.argv = rank_argv(in, coll, a);
	return ask_mpirun(backend, a, ret, e);
}
