#ifndef LIB_CLUSTER_WORLD_H
#define LIB_CLUSTER_WORLD_H
/*
 * Who we are in a job that somebody else started: rank, world size, master,
 * read from the variables of torchrun, accelerate, srun, Open MPI,
 * MPICH/Intel MPI, MVAPICH, Flux, PALS, jsrun, SageMaker, AWS Batch and
 * Kubeflow, or from PyTorch's --init URL. Pure: the environment is handed in,
 * so every launcher's can be tested. Says which launcher was recognised and
 * from which variables, and refuses what looks like a rank but is none (the
 * shell of an sbatch script).
 *
 * The innermost launcher wins (torchrun under srun is torchrun), and what a
 * launcher says beats a plain RANK beside it, which may be a leftover.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum launcher {
	LAUNCHER_NONE,
	LAUNCHER_WINDSOCK,
	LAUNCHER_TORCHRUN,
	LAUNCHER_ACCELERATE,
	LAUNCHER_SRUN,
	LAUNCHER_OPENMPI,
	LAUNCHER_MPICH,	  /* Intel MPI too */
	LAUNCHER_MVAPICH, /* its mpirun_rsh; its Hydra is MPICH's */
	LAUNCHER_FLUX,
	LAUNCHER_PALS, /* mpiexec of HPE Cray under PBS Pro */
	LAUNCHER_JSRUN,
	LAUNCHER_SAGEMAKER,
	LAUNCHER_AWS_BATCH,
	LAUNCHER_KUBEFLOW,
	LAUNCHER_INIT, /* --init tcp:// or file:// with --rank and --world-size */
	LAUNCHER_ENV,  /* RANK, WORLD_SIZE and MASTER_ADDR, set by whomever */
};
/* Somebody starts the ranks one by one, perhaps each in a terminal of its own: nobody takes rank
 * 0's exit code for the run's. */
static inline bool launcher_is_person(enum launcher l)
{
	return l == LAUNCHER_INIT || l == LAUNCHER_ENV;
}
const char *launcher_name(enum launcher l); /* "torchrun", "srun", ...; "none" */

enum { WORLD_MAX = 1 << 20 };

struct world {
	enum launcher launcher;
	const char *from;			      /* "RANK, WORLD_SIZE, MASTER_ADDR" */
	int rank, size;				      /* -1 unknown */
	int local_rank, local_size, node_rank, nodes; /* -1 unknown */
	const char *master_addr;		      /* NULL unknown */
	uint16_t master_port;			      /* 0 unknown */
	bool master_is_us;     /* rank 0 of a launcher that tells only the others its address */
	bool master_port_held; /* torchrun's agent listens on it already: use a port beside it */
	const char *init_file; /* file:// */
	const char *run;       /* tells this job from others on the same hosts, or NULL */
	const char *note;      /* what a person should know ("RANK counts nodes here"), or NULL */
	const char *trouble; /* looks like a rank but cannot be one; with what to do. NULL: fine */
};

/* Set for a process that is no rank, whatever the environment that it inherits says; our own
 * launcher's word beats it. */
#define WORLD_NO_RANK "WINDSOCK_NO_RANK"

typedef const char *world_getenv(const char *name, void *arg);
world_getenv world_own_env; /* this process's; its argument is not used */

/* @get: world_own_env or a table. LAUNCHER_NONE is not an error. Texts in @a. */
void world_from_env(world_getenv *get, void *arg, struct arena *a, struct world *ret);
/* What a person said of a world. */
struct world_init {
	const char *url; /* tcp://HOST:PORT, file:///PATH (?rank=R&world_size=N), env:// */
	int rank, size;	 /* --rank and --world-size, which win; -1: not given */
};
/* A world that cannot be is an error here: a person asked for it. */
int world_from_init(const struct world_init *said, world_getenv *get, void *arg, struct arena *a,
		    struct world *ret, struct err *e) MUST_CHECK;

#endif
