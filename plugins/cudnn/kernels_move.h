#ifndef PLUGINS_CUDNN_KERNELS_MOVE_H
#define PLUGINS_CUDNN_KERNELS_MOVE_H
/* Part of kernels.cu: between layouts and types, activations, and the optimizer's step. */

/* [image][channel][pixel] as the caller has it, times @by, to the other order. */
template <typename T, int, bool>
DEVICE void pack_input(T *out, const float *in, u32 n, u32 area, u32 channels, u32 stored, float by)
{
	for (EACH(i, n)) {
		u32 c = i % stored, pixel = i / stored;

		out[i] = as<T>(
			c < channels ? by * in[(pixel / area * channels + c) * area + pixel % area]
				     : 0);
	}
}
#define PARAMS(T) (T * out, const float *in, u32 n, u32 area, u32 channels, u32 stored, float by)
THREE(pack_input, PARAMS, (out, in, n, area, channels, stored, by))
#undef PARAMS

/* Weights [out][in][tap] of float32 to [out][tap][in], both filled up with zeros. */
template <typename T, int, bool>
DEVICE void pack_weights(T *out, const float *in, u32 n, u32 outs, u32 ins, u32 stored, u32 taps)
{
	for (EACH(i, n)) {
		u32 c = i % stored, tap = i / stored % taps, o = i / stored / taps;

		out[i] = as<T>(o < outs && c < ins ? in[(o * ins + c) * taps + tap] : 0);
	}
}
#define PARAMS(T) (T * out, const float *in, u32 n, u32 outs, u32 ins, u32 stored, u32 taps)
THREE(pack_weights, PARAMS, (out, in, n, outs, ins, stored, taps))
#undef PARAMS

/* And their gradients back, times @by. */
template <typename T, int, bool>
DEVICE void unpack_weights(float *out, const T *in, u32 n, u32 ins, u32 stored, u32 taps, float by)
{
	for (EACH(i, n)) {
		u32 tap = i % taps, c = i / taps % ins, o = i / taps / ins;

		out[i] = by * real(in[(o * taps + tap) * stored + c]);
	}
}
#define PARAMS(T) (float *out, const T *in, u32 n, u32 ins, u32 stored, u32 taps, float by)
THREE(unpack_weights, PARAMS, (out, in, n, ins, stored, taps, by))
#undef PARAMS

KERNEL copy(float *out, const float *in, u32 n)
{
	for (EACH(i, n))
		out[i] = in[i];
}

/* Adds a bias to each channel; those that only fill up stay zero. */
template <typename T, int, bool>
DEVICE void bias(T *y, const float *b, u32 n, u32 inner, u32 channels, u32 stored, u32 relu)
{
	for (EACH(i, n)) {
		u32 c = i / inner % stored;
		float v = real(y[i]) + (c < channels ? b[c] : 0);

		y[i] = as<T>(lives(v) || !relu ? v : 0);
	}
}
#define PARAMS(T) (T * y, const float *b, u32 n, u32 inner, u32 channels, u32 stored, u32 relu)
THREE(bias, PARAMS, (y, b, n, inner, channels, stored, relu))
#undef PARAMS

template <typename T, int V, bool>
DEVICE void add(T *y, const T *a, const T *b, u32 packs, u32 relu)
{
	for (EACH(i, packs)) {
		pack<T, V> pa = load<T, V>(a, i), pb = load<T, V>(b, i);

		for (int v = 0; v < V; v++) {
			float sum = real(pa.v[v]) + real(pb.v[v]);

			pa.v[v] = as<T>(lives(sum) || !relu ? sum : 0);
		}
		store<T, V>(y, i, pa);
	}
}
#define PARAMS(T) (T * y, const T *a, const T *b, u32 packs, u32 relu)
THREE(add, PARAMS, (y, a, b, packs, relu))
#undef PARAMS

/* A gradient goes on (where @y, which was made, is above zero): set, or added to what is there. */
template <typename T, int V, bool>
DEVICE void pass(T *dx, const T *dy, const T *y, u32 packs, u32 relu, u32 more)
{
	for (EACH(i, packs)) {
		pack<T, V> d = load<T, V>(dy, i), made = load<T, V>(y, i), there;

		if (more)
			there = load<T, V>(dx, i);
		for (int v = 0; v < V; v++) {
			float g = !relu || lives(real(made.v[v])) ? real(d.v[v]) : 0;

			d.v[v] = as<T>(more ? g + real(there.v[v]) : g);
		}
		store<T, V>(dx, i, d);
	}
}
#define PARAMS(T) (T * dx, const T *dy, const T *y, u32 packs, u32 relu, u32 more)
THREE(pass, PARAMS, (dx, dy, y, packs, relu, more))
#undef PARAMS

/* --- parameters ---------------------------------------------------------------------- */

KERNEL sgd(float *p, float *velocity, const float *g, u32 n, float lr, float momentum, float decay)
{
	for (EACH(i, n)) {
		float v = momentum * velocity[i] + (g[i] + decay * p[i]);

		velocity[i] = v;
		p[i] -= lr * v;
	}
}

/* All who find one write the same. */
KERNEL find_strange(u32 *found, const float *p, u32 n)
{
	for (EACH(i, n))
		if (!(p[i] - p[i] == 0))
			*found = 1;
}

#endif
