/* torchrun, accelerate, Kubeflow's operators and whoever sets PyTorch's env:// by hand. */
#include "lib/cluster/world_env.h"

static const struct world_names torch_names = {
	LAUNCHER_TORCHRUN,  "RANK",	  "WORLD_SIZE",	      "LOCAL_RANK",
	"LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
};

/*
 * The agent's own store listens on MASTER_PORT only where it says so: with
 * other rendezvous back ends the port is rank 0's to open.
 */
bool world_torch(struct env *v)
{
	const char *id = env_peek(v, "TORCHELASTIC_RUN_ID"), *restart, *held;

	if (!id || !env_peek(v, "RANK"))
		return false;
	env_read(v, &torch_names);
	env_master(v, "MASTER_ADDR", "MASTER_PORT");
	env_take(v, "TORCHELASTIC_RUN_ID");
	restart = env_peek(v, "TORCHELASTIC_RESTART_COUNT");
	v->w->run = arena_printf(v->a, "%s.%s", id, restart ? restart : "0");
	held = env_peek(v, "TORCHELASTIC_USE_AGENT_STORE");
	if (held && streq(held, "True")) {
		env_take(v, "TORCHELASTIC_USE_AGENT_STORE");
		v->w->master_port_held = true;
	}
	if (env_peek(v, "ACCELERATE_MIXED_PRECISION") || env_peek(v, "ACCELERATE_DYNAMO_BACKEND"))
		v->w->launcher = LAUNCHER_ACCELERATE;
	return true;
}

/* An operator that knows pods only: one rank in each. */
static void one_rank_per_pod(struct env *v, const char *rank_name, const char *size_name)
{
	const struct world_names names = {
		.launcher = LAUNCHER_KUBEFLOW, .rank = rank_name, .size = size_name};

	env_read(v, &names);
	v->w->node_rank = v->w->rank;
	v->w->nodes = v->w->size;
	v->w->local_rank = 0;
	v->w->local_size = 1;
	env_note(v,
		 "%s and %s count pods here, so there is one rank in each; "
		 "torchrun in the pod starts more",
		 rank_name, size_name);
}

static bool is_for_torchrun(const struct env *v)
{
	return env_peek(v, "PET_NNODES") && env_peek(v, "PET_NODE_RANK");
}

/* The trainer of Kubeflow v2 gives torchrun its options and starts nothing itself. */
bool world_kubeflow(struct env *v)
{
	if (!is_for_torchrun(v))
		return false;
	one_rank_per_pod(v, "PET_NODE_RANK", "PET_NNODES");
	env_master(v, "PET_MASTER_ADDR", "PET_MASTER_PORT");
	return true;
}

static bool in_kubernetes(const struct env *v)
{
	return env_peek(v, "KUBERNETES_PORT") || env_peek(v, "KUBERNETES_SERVICE_HOST");
}

bool world_plain(struct env *v)
{
	struct world_names names = torch_names;

	if (!env_peek(v, "RANK") || !env_peek(v, "WORLD_SIZE"))
		return false;
	/* a PyTorchJob's WORLD_SIZE counts the processes that torchrun will start, its RANK pods */
	if (in_kubernetes(v) && !env_peek(v, "LOCAL_RANK") && is_for_torchrun(v))
		return world_kubeflow(v);
	names.launcher = LAUNCHER_ENV;
	if (in_kubernetes(v) && !env_peek(v, "LOCAL_RANK"))
		one_rank_per_pod(v, names.rank, names.size);
	else
		env_read(v, &names);
	env_master(v, "MASTER_ADDR", "MASTER_PORT");
	if (v->w->size > 1 && !env_peek(v, "MASTER_ADDR"))
		env_trouble(v, "RANK and WORLD_SIZE are set and MASTER_ADDR is not: "
			       "set it to rank 0's host, or unset RANK and WORLD_SIZE");
	return true;
}
