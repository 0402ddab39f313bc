#ifndef BENCH_RANKS_MPIRUN_WHOSE_H
#define BENCH_RANKS_MPIRUN_WHOSE_H
/*
 * Whose an mpirun is, and which library its ranks have to load. Debian's is a link whose
 * target says it; Open MPI 5's, Intel MPI's and one that was copied are called mpirun and
 * nothing else: they are asked for their version.
 */
#include "bench/ranks/mpirun.h"

/* MPI_FLAVOURS: nobody's that is known. */
enum mpi_flavour mpirun_whose(const char *path);
/* Pure: from the answer to --version. */
enum mpi_flavour mpirun_whose_answer(const char *said);
/*
 * The folder with libmpi in the tree that @path is in ("/opt/openmpi/lib"). NULL: there is
 * none, and the loader finds it. Another release's library would not understand its mpirun.
 */
const char *mpirun_library_folder(const struct mpirun *m, struct arena *a);
/* Loads the library that is there, so that a plug-in loaded later is told of the same release. */
void mpirun_load_library(const struct mpirun *m, struct arena *a);

#endif
