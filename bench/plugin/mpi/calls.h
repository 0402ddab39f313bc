#ifndef BENCH_PLUGIN_MPI_CALLS_H
#define BENCH_PLUGIN_MPI_CALLS_H
/* Private to this folder: the collectives as MPI calls. mpi.h is not the same
 * for Open MPI and MPICH, so this folder is compiled once for each. */
#include "bench/comm/comm.h"

#include <mpi.h>

struct mpi_calls {
	MPI_Comm comm;
	int rank, size;
	MPI_Op ops[2][OP_AVG]; /* of half and bfloat16, which MPI does not know */
	MPI_Op sum_8;
	void *scratch; /* reduce's, of n bytes */
	size_t nscratch;
	int *counts; /* 4 * size: alltoallv's */
};

void mpi_calls_done(struct mpi_calls *m);
int mpi_calls_init(struct mpi_calls *m, MPI_Comm world, int rank); /* an MPI error code */
/* Collective over @from. With MPI_UNDEFINED as @colour, *ret is left as it is. */
int mpi_calls_part(const struct mpi_calls *from, int colour, int key, struct mpi_calls *ret);
/* Blocks. MPI_SUCCESS, or MPI's error code. */
int mpi_call(struct mpi_calls *m, const struct comm_request *q);
/* MPI counts in ints: NULL, or what is too large for it. */
const char *mpi_call_limit(const struct comm_request *q);

#endif
