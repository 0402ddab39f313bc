/* What starts ranks for a scheduler other than Slurm: Flux, PALS (PBS Pro), jsrun (LSF). */
#include "lib/cluster/world_env.h"

/* Is this a rank of an mpirun that a task has started? Its numbers are others than the task's. */
static bool is_of_mpirun(const struct env *v, const char *task, const char *tasks)
{
	static const char *const inner[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
					       {"PMI_RANK", "PMI_SIZE"}};
	const char *rank = env_peek(v, task), *size = env_peek(v, tasks);

	for (size_t i = 0; rank && size && i < ARRAY_LEN(inner); i++) {
		const char *r = env_peek(v, inner[i][0]), *n = env_peek(v, inner[i][1]);

		if (r && n && !(streq(r, rank) && streq(n, size)))
			return true;
	}
	return false;
}

/* On one node all tasks are local. */
static void all_are_here(struct env *v)
{
	struct world *w = v->w;

	if (w->local_rank >= w->size)
		env_trouble(v,
			    "FLUX_TASK_LOCAL_ID is %d, and FLUX_JOB_NNODES and FLUX_JOB_SIZE say "
			    "that it can be 0 to %d only: set them right",
			    w->local_rank, w->size - 1);
	else
		w->local_size = w->size;
}

/* A task of `flux run`. The script of `flux batch` has a job and no rank. */
bool world_flux(struct env *v)
{
	static const struct world_names names = {
		.launcher = LAUNCHER_FLUX,
		.rank = "FLUX_TASK_RANK",
		.size = "FLUX_JOB_SIZE",
		.local_rank = "FLUX_TASK_LOCAL_ID",
		.nodes = "FLUX_JOB_NNODES",
	};

	if (!env_peek(v, names.rank) || is_of_mpirun(v, names.rank, names.size))
		return false;
	env_read(v, &names);
	if (v->w->nodes == 1 && !v->w->trouble)
		all_are_here(v);
	v->w->run = env_peek(v, "FLUX_JOB_ID");
	env_rank0(v, "--env=MASTER_ADDR=HOST", "flux run");
	return true;
}

/*
 * mpiexec on an HPE Cray. It has no variable of its own for how many there are: PMI's has
 * it. On a Cray with Slurm srun sets the same ones, and knows more.
 */
bool world_pals(struct env *v)
{
	static const struct world_names names = {
		.launcher = LAUNCHER_PALS,
		.rank = "PALS_RANKID",
		.size = "PMI_SIZE",
		.local_rank = "PALS_LOCAL_RANKID",
		.local_size = "PMI_LOCAL_SIZE",
		.node_rank = "PALS_NODEID",
	};

	if (!env_peek(v, names.rank) || env_peek(v, "SLURM_STEP_ID"))
		return false;
	env_read(v, &names);
	v->w->run = env_peek(v, "PALS_APID");
	env_rank0(v, "--env MASTER_ADDR=HOST", "mpiexec");
	return true;
}

/* A step of LSF's jsrun, which gives Open MPI's variables beside its own. */
bool world_jsrun(struct env *v)
{
	static const struct world_names names = {
		.launcher = LAUNCHER_JSRUN,
		.rank = "JSM_NAMESPACE_RANK",
		.size = "JSM_NAMESPACE_SIZE",
		.local_rank = "JSM_NAMESPACE_LOCAL_RANK",
		.local_size = "JSM_NAMESPACE_LOCAL_SIZE",
	};
	const char *job = env_peek(v, "LSB_JOBID"), *step = env_peek(v, "PMIX_NAMESPACE");

	if (!env_peek(v, names.rank) || is_of_mpirun(v, names.rank, names.size))
		return false;
	env_read(v, &names);
	if (job || step)
		v->w->run = arena_printf(v->a, "%s.%s", job ? job : "", step ? step : "");
	env_rank0(v, "-E MASTER_ADDR=HOST", "jsrun");
	return true;
}
