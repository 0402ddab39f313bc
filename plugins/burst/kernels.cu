/*
 * A product of square matrices where there is no cuBLAS, and the look at its
 * result. Compiled by nvcc for GPUs, and as plain C++ into the stand-in for
 * the driver that the tests have.
 */
#include "plugins/burst/kinds.h"

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#define HERE static __device__ inline
#define EACH_ROW(i, n) for (unsigned i = blockIdx.x; i < (n); i += gridDim.x)
#define EACH_COLUMN(j, n) for (unsigned j = threadIdx.x; j < (n); j += blockDim.x)
#else
#define KERNEL extern "C" void
#define HERE static inline
#define EACH_ROW(i, n) for (unsigned i = 0; i < (n); i++)
#define EACH_COLUMN(j, n) for (unsigned j = 0; j < (n); j++)
#endif

/*
 * Each row of x and each column of y has a number of its own, one of +-1 and +-2, and what meets
 * in their products, +-2^a there and the same sign with 2^-a here, gives 1. So elements of z
 * differ from their neighbours, a sum is exact however it is made, and operands' bits change.
 */
struct power { /* of two */
	unsigned sign;
	int exponent;
};
HERE unsigned mixed(unsigned i)
{
	i = (i ^ i >> 16) * 0x7feb352du;
	i = (i ^ i >> 15) * 0x846ca68bu;
	return i ^ i >> 16;
}
HERE power of_row(unsigned i) { return {mixed(i) & 1, int(mixed(i) >> 1 & 1)}; }
HERE power of_column(unsigned j) { return of_row(~j); }
HERE power of_place(unsigned k) { return {mixed(k + 0x5bd1e995u) & 1, int(mixed(k) >> 8 & 7) - 4}; }

HERE void put(void *to, unsigned long i, int kind, power p, power q, int side)
{
	const unsigned sign = p.sign ^ q.sign;
	const int exponent = p.exponent + side * q.exponent;

	if (kind == KIND_FP32)
		((unsigned *)to)[i] = sign << 31 | unsigned(127 + exponent) << 23;
	else if (kind == KIND_BF16)
		((unsigned short *)to)[i] =
			(unsigned short)(sign << 15 | unsigned(127 + exponent) << 7);
	else
		((unsigned short *)to)[i] =
			(unsigned short)(sign << 15 | unsigned(15 + exponent) << 10);
}
HERE float right_at(unsigned row, unsigned column, unsigned n)
{
	const power p = of_row(row), q = of_column(column);
	const float all = float(n << (p.exponent + q.exponent));

	return p.sign ^ q.sign ? -all : all;
}

KERNEL burst_fill(void *x, void *y, unsigned n, int kind)
{
	EACH_ROW(row, n)
	EACH_COLUMN(column, n)
	{
		const unsigned long at = (unsigned long)row * n + column;

		put(x, at, kind, of_row(row), of_place(column), 1);
		put(y, at, kind, of_column(column), of_place(row), -1);
	}
}

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
/* What meets gives the same at each place: one is enough, and more would take the tests minutes. */
KERNEL burst_product(const float *x, const float *y, float *z, unsigned n)
{
	EACH_ROW(row, n)
	EACH_COLUMN(column, n)
	z[(unsigned long)row * n + column] = x[(unsigned long)row * n] * y[column] * float(n);
}
#endif

KERNEL burst_wrong(const float *z, unsigned n, unsigned long long *count)
{
	unsigned long long wrong = 0;

	EACH_ROW(row, n)
	EACH_COLUMN(column, n)
	wrong += !(z[(unsigned long)row * n + column] == right_at(row, column, n));
	if (!wrong)
		return;
#ifdef __CUDACC__
	atomicAdd(count, wrong);
#else
	*count += wrong;
#endif
}
