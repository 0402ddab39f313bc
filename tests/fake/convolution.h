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

struct job {
	shape x, w, y;
	int pad, stride;
	float beta;
	const void *a, *b;
	void *to;
};
enum pass { FORWARD, DATA, WEIGHTS };

/* How far a number of a tensor lies from the next one of its image, channel, row and column. */
struct steps {
	size_t n, c, h, w;
};
inline size_t at(const steps &s, int n, int c, int h, int w)
{
	return n * s.n + c * s.c + h * s.h + w * s.w;
}
inline steps planes(const shape &s)
{
	return {size_t(s.c) * s.h * s.w, size_t(s.h) * s.w, size_t(s.w), 1};
}
inline steps pixels(const shape &s)
{
	return {size_t(s.h) * s.w * s.c, 1, size_t(s.w) * s.c, size_t(s.c)};
}
/* Of filters whose numbers for all outputs, or all inputs, are used at a time. */
inline steps outputs(const shape &s)
{
	return {1, size_t(s.n), size_t(s.w) * s.c * s.n, size_t(s.c) * s.n};
}
inline steps inputs(const shape &s)
{
	return {size_t(s.c), 1, size_t(s.w) * s.c * s.n, size_t(s.c) * s.n};
}
inline steps given(const shape &s) { return s.format == CUDNN_TENSOR_NHWC ? pixels(s) : planes(s); }

inline std::vector<float> ordered(const std::vector<float> &v, const shape &s, steps from, steps to)
{
	const int line = 16; /* of a filter's, written together */
	std::vector<float> other(v.size());

	for (int first = 0; first < s.n; first += line)
		for (int c = 0; c < s.c; c++)
			for (int h = 0; h < s.h; h++)
				for (int w = 0; w < s.w; w++)
					for (int n = first; n < std::min(first + line, s.n); n++)
						other[at(to, n, c, h, w)] = v[at(from, n, c, h, w)];
	return other;
}

/*
 * Every pixel of x, the place in the filter by which it comes to one of y, and that one: where
 * their first channels are. What comes to a sum comes in the order of filters' rows, columns and
 * channels, or of y's.
 */
template <typename F>
inline void each(const shape &x, const shape &w, const shape &y, const job &j, pass p, F &&f)
{
	steps xs = pixels(x), ws = outputs(w), ys = pixels(y);

	for (int n = 0; n < y.n; n++)
		for (int row = 0; row < y.h; row++)
			for (int at_row = 0; at_row < w.h; at_row++)
				for (int i = 0; i < w.w; i++) {
					int s = p == DATA ? w.w - 1 - i : i;
					int h = row * j.stride + at_row - j.pad, v = s - j.pad;

					if (h < 0 || h >= x.h)
						continue;
					for (int k = 0; k < y.w; k++, v += j.stride)
						if (v >= 0 && v < x.w)
							f(at(xs, n, 0, h, v),
							  at(ws, 0, 0, at_row, s),
							  at(ys, n, 0, row, k));
				}
}

/* to[i] += from[i] * by */
inline void add(float *__restrict to, const float *__restrict from, float by, int many)
{
	for (int i = 0; i < many; i++) /* as vectors */
		to[i] += from[i] * by;
}

inline void run(const job &j, pass p, float scale = 1)
{
	const shape &made = p == FORWARD ? j.y : p == DATA ? j.x : j.w;
	const shape &first = p == DATA ? j.w : j.x, &second = p == FORWARD ? j.w : j.y;
	number t = type(j.x.type);
	auto as = [&](const shape &s) {
		return &s != &j.w ? pixels(s) : p == DATA ? inputs(s) : outputs(s);
	};
	auto read = [&](const void *from, const shape &s) {
		return ordered(read_all(from, t, count(s)), s, given(s), as(s));
	};
	std::vector<float> a = read(j.a, first), b = read(j.b, second), sum(count(made), 0.0f);
	int in = j.w.c, out = j.w.n;

	each(j.x, j.w, j.y, j, p, [&](size_t x, size_t w, size_t y) {
		if (p == FORWARD)
			for (int c = 0; c < in; c++)
				add(&sum[y], &b[w + size_t(c) * out], a[x + c], out);
		else if (p == DATA)
			for (int o = 0; o < out; o++)
				add(&sum[x], &a[w + size_t(o) * in], b[y + o], in);
		else
			for (int c = 0; c < in; c++)
				add(&sum[w + size_t(c) * out], &b[y], a[x + c], out);
	});
	for (float &s : sum)
		s *= scale;
	sum = ordered(sum, made, as(made), given(made));
	if (j.beta != 0) {
		std::vector<float> there = read_all(j.to, t, sum.size());

		for (size_t i = 0; i < sum.size(); i++)
			sum[i] += j.beta * there[i];
	}
	write_all(j.to, t, sum);
}

#endif
