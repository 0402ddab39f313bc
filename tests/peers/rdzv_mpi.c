/* The rendezvous of an MPI, for bench-rendezvous: init, a barrier, a second one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	const char *started = getenv("STARTED");
	double mine[2], max[2], t;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Barrier(MPI_COMM_WORLD);
	t = now();
	mine[0] = t - (started ? strtod(started, NULL) : 0);
	MPI_Barrier(MPI_COMM_WORLD);
	mine[1] = now() - t;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Reduce(mine, max, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("%d\t%.4f\t%.3f\n", size, max[0], max[1] * 1e3);
	return MPI_Finalize();
}
