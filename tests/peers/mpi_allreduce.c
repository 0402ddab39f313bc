/*
 * mpi_allreduce: MPI_Allreduce of floats for one size after another, timed as
 * ncclbench times its own: warm up, barrier, iterations, mean over the ranks.
 *
 *	mpi_allreduce BYTES ITERATIONS WARMUP [BYTES ITERATIONS WARMUP]...
 *
 * Prints "BYTES MICROSECONDS" lines; every result is checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void run(size_t bytes, long iters, long warmup, int rank, int size)
{
	size_t n = bytes / sizeof(float);
	float *in = malloc(bytes), *out = malloc(bytes);
	double t, sum;

	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (size_t i = 0; i < n; i++)
		in[i] = (float)(rank + 1);
	for (long i = 0; i < warmup + 1; i++)
		MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	t = MPI_Wtime();
	for (long i = 0; i < iters; i++)
		MPI_Allreduce(in, out, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	t = (MPI_Wtime() - t) / (double)iters;
	for (size_t i = 0; i < n; i++)
		if (out[i] != (float)(size * (size + 1) / 2))
			MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Reduce(&t, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		printf("%zu %.3f\n", bytes, sum / size * 1e6);
	free(in);
	free(out);
}

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 1; i + 2 < argc; i += 3)
		run(strtoull(argv[i], NULL, 10), strtol(argv[i + 1], NULL, 10),
		    strtol(argv[i + 2], NULL, 10), rank, size);
	MPI_Finalize();
	return 0;
}
