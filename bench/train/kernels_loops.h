/*
 * The loops of bench/train/kernels.c, compiled once per instruction set:
 * included with SET, NUMBER, TARGET, LANES, WIDTH and GROUP defined, again and
 * again; the guard is of the macros alone.
 */
#ifndef BENCH_TRAIN_KERNELS_LOOPS_H
#define BENCH_TRAIN_KERNELS_LOOPS_H
#define PASTE2(a, b) a##_##b
#define PASTE(a, b) PASTE2(a, b)
#define NAME(name) PASTE(SET, name)
#define V NAME(floats)
#define VI NAME(ints)
#define TEXT2(s) #s
#define TEXT(s) TEXT2(s)

/* One row of the input meets the two output rows that see it. */
#define ROW(out, taps)                                                                             \
	UNROLL for (int j = 0; j < CONV_K; j++)                                                    \
	{                                                                                          \
		float tap = (taps)[j];                                                             \
                                                                                                   \
		UNROLL for (int i = 0; i < WIDTH; i++) out[i] += t[i + j] * tap;                   \
	}
#define PICK(m, yes, no) (((VI)(yes) & (m)) | ((VI)(no) & ~(m)))
/* What is not a number stays, as in PyTorch: it is above all others, and above zero. */
#define ABOVE(a, b) (((a) > (b)) | ((a) != (a)))
#endif

typedef float V __attribute__((vector_size(LANES * 4), may_alias));
typedef int32_t VI __attribute__((vector_size(LANES * 4), may_alias));

TARGET static void NAME(conv)(const struct conv *c, const float *in_, const float *w,
			      const float *b, float *out_, int32_t *sel_)
{
	int side = c->side, rows = side - CONV_K + 1, half = rows / 2;
	const V *in = (const V *)in_;

	for (int o = 0; o < c->out; o++)
		for (int y = 0; y < rows; y += 2)
			for (int x = 0; x < rows; x += WIDTH) {
				V up[WIDTH], down[WIDTH];
				V *out = (V *)out_ + (o * half + y / 2) * half + x / 2;
				VI *sel = (VI *)sel_ + (o * half + y / 2) * half + x / 2;

				UNROLL for (int i = 0; i < WIDTH; i++) up[i] = down[i] =
					(V){0} + b[o];
				for (int ch = 0; ch < c->in; ch++) {
					const V *s = in + (ch * side + y) * side + x;
					const float *k = w + (o * c->in + ch) * CONV_TAPS;

					UNROLL for (int r = 0; r <= CONV_K; r++)
					{
						V t[WIDTH + CONV_K - 1];

						UNROLL for (int i = 0; i < WIDTH + CONV_K - 1; i++)
							t[i] = s[r * side + i];
						if (r < CONV_K)
							ROW(up, k + r * CONV_K)
						if (r)
							ROW(down, k + (r - 1) * CONV_K)
					}
				}
				UNROLL for (int i = 0; i < WIDTH / 2; i++)
				{
					V a0 = up[2 * i], a1 = up[2 * i + 1];
					V b0 = down[2 * i], b1 = down[2 * i + 1];
					VI right = ABOVE(a1, a0), low = ABOVE(b1, b0), below, live;
					V high = (V)PICK(right, a1, a0),
					  deep = (V)PICK(low, b1, b0);
					V best;

					below = ABOVE(deep, high);
					best = (V)PICK(below, deep, high);
					live = ~(best <= 0);
					out[i] = (V)((VI)best & live);
					sel[i] = PICK(below, (low & 1) + 2, right & 1) | ~live;
				}
			}
}

TARGET static void NAME(conv_unpool)(const struct conv *c, const float *dout_, const int32_t *sel_,
				     float *da_, float *bias_)
{
	int rows = c->side - CONV_K + 1, half = rows / 2;
	const VI *dout = (const VI *)dout_, *sel = (const VI *)sel_;
	VI *da = (VI *)da_;
	V *bias = (V *)bias_;

	for (int o = 0; o < c->out; o++) {
		V sum = {0};

		for (int y = 0; y < half; y++)
			for (int x = 0; x < half; x++, dout++, sel++) {
				VI *to = da + (o * rows + 2 * y) * rows + 2 * x;

				to[0] = *dout & (*sel == 0);
				to[1] = *dout & (*sel == 1);
				to[rows] = *dout & (*sel == 2);
				to[rows + 1] = *dout & (*sel == 3);
				sum += (V)(*dout & (*sel >= 0));
			}
		bias[o] += sum;
	}
}

TARGET static void NAME(conv_dw)(const struct conv *c, const float *in_, const float *da_,
				 float *sums_)
{
	int side = c->side, rows = side - CONV_K + 1;
	V *sums = (V *)sums_;

	for (int o = 0; o < c->out; o += GROUP)
		for (int ch = 0; ch < c->in; ch++)
			for (int r = 0; r < CONV_K; r++, sums += GROUP * CONV_K) {
				V a[GROUP][CONV_K];

				UNROLL for (int g = 0; g < GROUP; g++)
					UNROLL for (int j = 0; j < CONV_K; j++) a[g][j] =
						sums[g * CONV_K + j];
				for (int y = 0; y < rows; y++) {
					const V *s = (const V *)in_ + (ch * side + y + r) * side;
					const V *d = (const V *)da_ + (o * rows + y) * rows;

					for (int x = 0; x < rows; x++)
						UNROLL for (int g = 0; g < GROUP; g++)
						{
							V e = d[g * rows * rows + x];

							UNROLL for (int j = 0; j < CONV_K; j++)
								a[g][j] += e * s[x + j];
						}
				}
				UNROLL for (int g = 0; g < GROUP; g++)
					UNROLL for (int j = 0; j < CONV_K; j++)
						sums[g * CONV_K + j] = a[g][j];
			}
}

TARGET static void NAME(conv_dw_end)(const struct conv *c, const float *sums, const float *bias,
				     float *gw, float *gb)
{
	for (int o = 0; o < c->out; o += GROUP)
		for (int ch = 0; ch < c->in; ch++)
			for (int r = 0; r < CONV_K; r++)
				for (int g = 0; g < GROUP; g++)
					for (int j = 0; j < CONV_K; j++, sums += LANES) {
						float sum = 0;

						for (int i = 0; i < LANES; i++)
							sum += sums[i];
						gw[((o + g) * c->in + ch) * CONV_TAPS + r * CONV_K +
						   j] = sum;
					}
	for (int o = 0; o < c->out; o++, bias += LANES) {
		gb[o] = 0;
		for (int i = 0; i < LANES; i++)
			gb[o] += bias[i];
	}
}

/* Eight columns of the gradient reach twelve of the input. */
TARGET static void NAME(conv_dx)(const struct conv *c, const float *da_, const float *w, float *dx_)
{
	enum { FROM = 8, TO = FROM + CONV_K - 1 };
	int side = c->side, rows = side - CONV_K + 1;
	V *dx = (V *)dx_;

	memset(dx, 0, sizeof(V) * (size_t)(c->in * side * side));
	for (int ch = 0; ch < c->in; ch++)
		for (int y = 0; y < side; y++)
			for (int x = 0; x < rows; x += FROM) {
				V *to = dx + (ch * side + y) * side + x, a[TO];
				int first = y >= rows ? y - rows + 1 : 0;
				int last = y < CONV_K ? y : CONV_K - 1;

				UNROLL for (int i = 0; i < TO; i++) a[i] = to[i];
				for (int o = 0; o < c->out; o++)
					for (int r = first; r <= last; r++) {
						const V *d = (const V *)da_ +
							     (o * rows + y - r) * rows + x;
						const float *k = w + (o * c->in + ch) * CONV_TAPS +
								 r * CONV_K;

						UNROLL for (int j = 0; j < CONV_K; j++)
						{
							float tap = k[j];

							UNROLL for (int i = 0; i < FROM; i++)
								a[i + j] += d[i] * tap;
						}
					}
				UNROLL for (int i = 0; i < TO; i++) to[i] = a[i];
			}
}

TARGET static void NAME(dense)(const struct dense *d, const float *in, const float *w,
			       const float *b, float *out_)
{
	V *out = (V *)out_;

	for (int o = 0; o < d->out; o += 10) {
		const float *row = w + (size_t)o * (size_t)d->in;
		V a[10];

		UNROLL for (int i = 0; i < 10; i++) a[i] = (V){0} + b[o + i];
		for (int k = 0; k < d->in; k++) {
			V x = ((const V *)in)[k];

			UNROLL for (int i = 0; i < 10; i++) a[i] += x * row[i * d->in + k];
		}
		UNROLL for (int i = 0; i < 10; i++) out[o + i] =
			d->relu ? (V)((VI)a[i] & ~(a[i] <= 0)) : a[i];
	}
}

TARGET static void NAME(dense_dx)(const struct dense *d, const float *dout, const float *w,
				  float *dx)
{
	for (int k = 0; k < d->in; k += 10) {
		V a[10];

		UNROLL for (int i = 0; i < 10; i++) a[i] = (V){0};
		for (int o = 0; o < d->out; o++) {
			V e = ((const V *)dout)[o];

			UNROLL for (int i = 0; i < 10; i++) a[i] += e * w[o * d->in + k + i];
		}
		UNROLL for (int i = 0; i < 10; i++)((V *)dx)[k + i] = a[i];
	}
}

/* Four samples at a time: a sum is loaded and stored once for them. */
TARGET static void NAME(dense_dw)(const struct dense *d, int n, const float *dout, const float *in,
				  float *gw, float *gb)
{
	memset(gw, 0, sizeof(*gw) * (size_t)(d->in * d->out));
	memset(gb, 0, sizeof(*gb) * (size_t)d->out);
	for (int s = 0; s < n; s += 4)
		for (int o = 0; o < d->out; o++) {
			const float *x = in + (size_t)s * (size_t)d->in, *e = dout + s * d->out + o;
			float e0 = e[0], e1 = e[d->out], e2 = e[2 * d->out], e3 = e[3 * d->out];
			float *g = gw + o * d->in;
			int stride = d->in;

			gb[o] += (e0 + e1) + (e2 + e3);
			VECTORIZE for (int k = 0; k < stride; k++) g[k] +=
				(e0 * x[k] + e1 * x[stride + k]) +
				(e2 * x[2 * stride + k] + e3 * x[3 * stride + k]);
		}
}

TARGET static void NAME(relu_back)(const float *out, float *dout, int features)
{
	for (int k = 0; k < features; k++)
		((VI *)dout)[k] &= ~(((const V *)out)[k] <= 0);
}

TARGET static void NAME(sgd)(size_t n, float *p, float *v, const float *g, struct sgd s)
{
	VECTORIZE for (size_t i = 0; i < n; i++)
	{
		float d = g[i] + s.decay * p[i];

		v[i] = s.momentum * v[i] + d;
		p[i] -= s.lr * v[i];
	}
}

static const struct kernels NAME(kernels) = {
	.name = TEXT(SET),
	.set = NUMBER,
	.lanes = LANES,
	.conv = NAME(conv),
	.conv_unpool = NAME(conv_unpool),
	.conv_dw = NAME(conv_dw),
	.conv_dw_end = NAME(conv_dw_end),
	.conv_dx = NAME(conv_dx),
	.dense = NAME(dense),
	.dense_dx = NAME(dense_dx),
	.dense_dw = NAME(dense_dw),
	.relu_back = NAME(relu_back),
	.sgd = NAME(sgd),
};

#undef SET
#undef NUMBER
#undef TARGET
#undef LANES
#undef WIDTH
#undef GROUP
