#ifndef BENCH_RANKS_MPIRUN_H
#define BENCH_RANKS_MPIRUN_H
/*
 * Which MPI, and how a program gets its ranks from it: MPI's ranks have to be
 * started by its own mpirun, so a command that a person started becomes one.
 */
#include "lib/cluster/launch.h"

enum mpi_flavour { MPI_OPENMPI, MPI_MPICH, MPI_FLAVOURS };

struct mpirun {
	enum mpi_flavour flavour;
	const char *path;      /* of its mpirun; NULL: we are a rank already */
	const char *plugin;    /* "mpi-openmpi" */
	const char *libraries; /* the folder of its own; NULL: where the loader looks */
};

/*
 * @wanted: "mpi" (whoever started us, else the first mpirun in PATH),
 * "mpi-openmpi" or "mpi-mpich" (Intel MPI's, too). WINDSOCK_MPIRUN names one beyond PATH.
 * ERR_ABSENT: there is none, or the named one is nobody's.
 */
int mpirun_find(const char *wanted, struct arena *a, struct mpirun *ret, struct err *e) MUST_CHECK;

/*
 * The command that starts @l's ranks (hosts, np, np_per_host, rsh, argv) with the mpirun
 * of @wanted, NULL-ended; *ret NULL: we are one of them already. --serve and --srun,
 * which are other launchers, are an ERR_USAGE, and so are hosts whose names have a colon.
 */
int mpirun_plan(const char *wanted, const struct launch_opts *l, struct arena *a,
		const char *const **ret, struct err *e) MUST_CHECK;
/* A rank of an mpirun that a command of ours has started, which hears what ranks say. */
bool mpirun_relays(void);
/* Becomes it; its ranks know. Returns only when that failed. */
int mpirun_exec(const char *const *argv, struct err *e);
/* What an end of mpirun's that is no success says about its ranks; NULL: it is one. */
const char *mpirun_failure(int wait_status, struct arena *a);

/* How many ranks, and where. */
struct mpirun_place {
	unsigned np;
	const char *const *hosts; /* NULL-ended; NULL: this machine */
	const unsigned *counts;	  /* ranks of each of them */
};
/* Pure. */
const char *const *mpirun_argv(const struct mpirun *m, const struct mpirun_place *at,
			       const char *const *argv, const char *rsh, struct arena *a);

#endif
