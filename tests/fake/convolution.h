#ifndef TESTS_FAKE_CONVOLUTION_H
#define TESTS_FAKE_CONVOLUTION_H
/* What the stand-in of cuDNN computes: a convolution, and its gradients, on the processor. */
#include "tests/fake/tensors.h"
#include <algorithm>
#include <cudnn.h>

struct shape {
	cudnnTensorFormat_t format;
	cudnnDataType_t type;
	int n, c, h, w; /* of a filter: out, in */
};

inline number type(cudnnDataType_t t)
{
	return t == CUDNN_DATA_FLOAT  ? number::f32
	       : t == CUDNN_DATA_HALF ? number::f16
				      : number::bf16;
}
inline size_t count(const shape &s) { return size_t(s.n) * s.c * s.h * s.w; }
inline size_t at(const shape &s, int n, int c, int h, int w)
{
	return s.format == CUDNN_TENSOR_NHWC ? ((size_t(n) * s.h + h) * s.w + w) * s.c + c
					     : ((size_t(n) * s.c + c) * s.h + h) * s.w + w;
}

inline shape planes(shape s)
{
	s.format = CUDNN_TENSOR_NCHW;
	return s;
}
inline std::vector<float> ordered(std::vector<float> v, const shape &from, const shape &to)
{
	std::vector<float> other(from.format == to.format ? 0 : v.size());

	if (other.empty())
		return v;
	for (int n = 0; n < to.n; n++)
		for (int c = 0; c < to.c; c++)
			for (int h = 0; h < to.h; h++)
				for (int w = 0; w < to.w; w++)
					other[at(to, n, c, h, w)] = v[at(from, n, c, h, w)];
	return other;
}

struct job {
	shape x, w, y;
	int pad, stride;
	float beta;
	const void *a, *b;
	void *to;
};
enum pass { FORWARD, DATA, WEIGHTS };

/*
 * Every product of a value, a weight and what it goes to, a row of these at a time: where their
 * first ones are, and how many. What comes to a sum comes in the order of filters' rows, columns
 * and channels, or of y's.
 */
template <typename F>
inline void each(const shape &x, const shape &w, const shape &y, const job &j, pass p, F &&f)
{
	for (int n = 0; n < y.n; n++)
		for (int row = 0; row < y.h; row++)
			for (int at_row = 0; at_row < w.h; at_row++)
				for (int i = 0; i < w.w; i++) {
					int s = p == DATA ? w.w - 1 - i : i;
					int h = row * j.stride + at_row - j.pad, v = s - j.pad;
					int from = v < 0 ? (-v + j.stride - 1) / j.stride : 0;
					int to = v < x.w ? (x.w - 1 - v) / j.stride + 1 : 0;
					int many = std::min(to, y.w) - from;

					if (h < 0 || h >= x.h || many <= 0)
						continue;
					for (int o = 0; o < y.c; o++)
						for (int c = 0; c < x.c; c++)
							f(at(x, n, c, h, from * j.stride + v),
							  at(w, o, c, at_row, s),
							  at(y, n, o, row, from), many);
				}
}

/* to[i] += from[i] * by; one of the two goes by strides. */
inline void add(float *__restrict to, int to_step, const float *__restrict from, int step, float by,
		int many)
{
	if (to_step == 1 && step == 1)
		for (int i = 0; i < many; i++) /* as vectors */
			to[i] += from[i] * by;
	else
		for (int i = 0; i < many; i++)
			to[i * to_step] += from[i * step] * by;
}

inline void run(const job &j, pass p, float scale = 1)
{
	const shape &made = p == FORWARD ? j.y : p == DATA ? j.x : j.w;
	const shape &first = p == DATA ? j.w : j.x, &second = p == FORWARD ? j.w : j.y;
	number t = type(j.x.type);
	std::vector<float> a = ordered(read_all(j.a, t, count(first)), first, planes(first));
	std::vector<float> b = ordered(read_all(j.b, t, count(second)), second, planes(second));
	std::vector<float> sum(count(made), 0.0f);

	each(planes(j.x), planes(j.w), planes(j.y), j, p,
	     [&](size_t x, size_t w, size_t y, int many) {
		     if (p == FORWARD)
			     add(&sum[y], 1, &a[x], j.stride, b[w], many);
		     else if (p == DATA)
			     add(&sum[x], j.stride, &b[y], 1, a[w], many);
		     else
			     for (int i = 0; i < many; i++)
				     sum[w] += a[x + size_t(i) * j.stride] * b[y + i];
	     });
	for (float &s : sum)
		s *= scale;
	sum = ordered(std::move(sum), planes(made), made);
	if (j.beta != 0) {
		std::vector<float> there = read_all(j.to, t, sum.size());

		for (size_t i = 0; i < sum.size(); i++)
			sum[i] += j.beta * there[i];
	}
	write_all(j.to, t, sum);
}

#endif
