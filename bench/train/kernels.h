#ifndef BENCH_TRAIN_KERNELS_H
#define BENCH_TRAIN_KERNELS_H
/*
 * The loops of the built-in engine. Lanes are samples: a tensor is
 * [feature][lanes], or [channel][row][column][lanes], so that every convolution
 * is vector code whatever its shape. They exist for each instruction set; the
 * widest that this processor has is taken at run time.
 *
 * All buffers are of floats, aligned to 64 bytes; each call does one block of
 * samples. Results depend on the instruction set in their last bits (lanes are
 * summed, products are fused), and on nothing else.
 */
#include "bench/train/sgd.h"
#include "lib/core/base.h"

/* 5x5 without a border, ReLU, then the largest of each 2x2. */
struct conv {
	int in, out; /* channels; out: a multiple of 10 */
	int side;    /* of the input; the convolution's rows are a multiple of 8 */
};
struct dense {
	int in, out; /* features; out: a multiple of 10 */
	bool relu;
};
enum { CONV_K = 5, CONV_TAPS = CONV_K * CONV_K, LANES_MAX = 16 };

enum kernel_set { KERNELS_PLAIN, KERNELS_AVX2, KERNELS_AVX512, KERNEL_SETS };

struct kernels {
	const char *name;
	enum kernel_set set;
	int lanes;
	/* @sel: which of the four was largest, -1: none above zero */
	void (*conv)(const struct conv *c, const float *in, const float *w, const float *b,
		     float *out, int32_t *sel);
	/* @da: the gradient before pooling; its sum per channel is added to @bias */
	void (*conv_unpool)(const struct conv *c, const float *dout, const int32_t *sel, float *da,
			    float *bias);
	/* Adds to @sums (taps x lanes, in an order of its own) ... */
	void (*conv_dw)(const struct conv *c, const float *in, const float *da, float *sums);
	/* ... and sums up the lanes, of all blocks. */
	void (*conv_dw_end)(const struct conv *c, const float *sums, const float *bias, float *gw,
			    float *gb);
	void (*conv_dx)(const struct conv *c, const float *da, const float *w, float *dx);
	void (*dense)(const struct dense *d, const float *in, const float *w, const float *b,
		      float *out);
	/* in: a multiple of 10 */
	void (*dense_dx)(const struct dense *d, const float *dout, const float *w, float *dx);
	/* Of the whole batch, sample by sample: @dout [n][out], @in [n][in]. Sets. */
	void (*dense_dw)(const struct dense *d, int n, const float *dout, const float *in,
			 float *gw, float *gb);
	void (*relu_back)(const float *out, float *dout, int features);
	void (*sgd)(size_t n, float *p, float *v, const float *g, struct sgd s);
};

const struct kernels *kernels_of(enum kernel_set set); /* NULL: this processor lacks it */
const struct kernels *kernels_best(void);

#endif
