/* Open MPI's, Hydra's (MPICH, Intel MPI) and MVAPICH's mpirun. None says where rank 0 runs. */
#include "lib/cluster/world_env.h"

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
	env_rank0(v, "-x MASTER_ADDR=HOST", "mpirun");
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
	env_rank0(v, "-genv MASTER_ADDR HOST", "mpirun");
	return true;
}

/* The names of MVAPICH2 and, since its third edition, MVAPICH. */
bool world_mvapich(struct env *v)
{
	static const struct world_names editions[] = {
		{.launcher = LAUNCHER_MVAPICH,
		 .rank = "MVP_COMM_WORLD_RANK",
		 .size = "MVP_COMM_WORLD_SIZE",
		 .local_rank = "MVP_COMM_WORLD_LOCAL_RANK",
		 .local_size = "MVP_COMM_WORLD_LOCAL_SIZE"},
		{.launcher = LAUNCHER_MVAPICH,
		 .rank = "MV2_COMM_WORLD_RANK",
		 .size = "MV2_COMM_WORLD_SIZE",
		 .local_rank = "MV2_COMM_WORLD_LOCAL_RANK",
		 .local_size = "MV2_COMM_WORLD_LOCAL_SIZE"},
	};

	for (size_t i = 0; i < ARRAY_LEN(editions); i++) {
		if (!env_peek(v, editions[i].rank))
			continue;
		env_read(v, &editions[i]);
		env_rank0(v, "MASTER_ADDR=HOST", "mpirun_rsh");
		return true;
	}
	return false;
}
