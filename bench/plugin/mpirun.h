#ifndef BENCH_PLUGIN_MPIRUN_H
#define BENCH_PLUGIN_MPIRUN_H
/*
 * Which MPI, and how a program gets its ranks from it: MPI's ranks have to be
 * started by its own mpirun, so a command that a person started becomes one.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum mpi_flavour { MPI_OPENMPI, MPI_MPICH, MPI_FLAVOURS };

struct mpirun {
	enum mpi_flavour flavour;
	const char *path;   /* of its mpirun; NULL: we are a rank already */
	const char *plugin; /* "mpi-openmpi" */
};

/*
 * @wanted: "mpi" (whoever started us, else the first mpirun in PATH),
 * "mpi-openmpi" or "mpi-mpich". WINDSOCK_MPIRUN names one beyond PATH.
 * ERR_ABSENT: there is none.
 */
int mpirun_find(const char *wanted, struct arena *a, struct mpirun *ret, struct err *e) MUST_CHECK;

/*
 * The command that starts @np ranks of this program with the arguments @argv[1...],
 * NULL-ended. @hosts: NULL, or names, NULL-ended. @rsh: instead of ssh; NULL: WINDSOCK_RSH.
 */
const char *const *mpirun_argv(const struct mpirun *m, unsigned np, const char *const *hosts,
			       const char *const *argv, const char *rsh, struct arena *a);
/* Becomes it. Returns only when that failed. */
int mpirun_exec(const char *const *argv, struct err *e);

#endif
