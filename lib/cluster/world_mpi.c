/* Open MPI's and Hydra's mpirun (MPICH, Intel MPI). Neither says where rank 0 runs. */
#include "lib/cluster/world_env.h"

static void mpi_master(struct env *v, const char *how)
{
	struct world *w = v->w;

	env_master(v, "MASTER_ADDR", "MASTER_PORT");
	if (!w->master_addr && w->size > 0 && w->local_size == w->size)
		w->master_addr = "127.0.0.1";
	else if (!w->master_addr)
		env_note(v, "%s does not say where rank 0 runs: add `%s` to mpirun",
			 launcher_name(w->launcher), how);
	if (!w->master_port)
		w->master_port = env_port_of_run(v);
}

/*
 * OMPI_COMM_WORLD_NODE_RANK is no number of a node: it counts the processes
 * on this one over all jobs.
 */
bool world_openmpi(struct env *v)
{
	static const struct world_names names = {
		.launcher = LAUNCHER_OPENMPI,
		.rank = "OMPI_COMM_WORLD_RANK",
		.size = "OMPI_COMM_WORLD_SIZE",
		.local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
		.local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
	};

	if (!env_peek(v, names.rank))
		return false;
	env_read(v, &names);
	v->w->run = env_peek(v, "PMIX_NAMESPACE");
	mpi_master(v, "-x MASTER_ADDR=HOST");
	return true;
}

/* srun --mpi=pmi2 sets PMI_RANK too, but not Hydra's local ranks. */
bool world_mpich(struct env *v)
{
	static const struct world_names names = {
		.launcher = LAUNCHER_MPICH,
		.rank = "PMI_RANK",
		.size = "PMI_SIZE",
		.local_rank = "MPI_LOCALRANKID",
		.local_size = "MPI_LOCALNRANKS",
	};

	if (!env_peek(v, names.rank) ||
	    (env_peek(v, "SLURM_STEP_ID") && !env_peek(v, names.local_rank)))
		return false;
	env_read(v, &names);
	v->w->run = env_peek(v, "PMI_JOBID");
	mpi_master(v, "-genv MASTER_ADDR HOST");
	return true;
}
