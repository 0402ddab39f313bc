/* What starts ranks for a scheduler other than Slurm: Flux, PALS (PBS Pro), jsrun (LSF). */
#include "lib/cluster/world_env.h"

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

	if (!env_peek(v, names.rank))
		return false;
	env_read(v, &names);
	if (v->w->nodes == 1 && !v->w->trouble)
		v->w->local_size = v->w->size;
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

	if (!env_peek(v, names.rank))
		return false;
	env_read(v, &names);
	if (job || step)
		v->w->run = arena_printf(v->a, "%s.%s", job ? job : "", step ? step : "");
	env_rank0(v, "-E MASTER_ADDR=HOST", "jsrun");
	return true;
}
