#ifndef PLUGINS_CUDNN_KERNELS_NORM_H
#define PLUGINS_CUDNN_KERNELS_NORM_H
/*
 * Part of kernels.cu: sums over all pixels of a channel, and batch normalization. A sum
 * is made in steps: @parts threads for each group of channels take every @parts-th
 * row, writing [part][which][channel]; those are summed a few at a time, and the last few
 * by whoever needs them.
 */

/* Where a thread's rows are. A row is what one pixel has of V channels. */
template <int V, bool LAST> struct rows {
	u32 group, part, area, channels, parts;

	DEVICE rows(u32 i, u32 area_, u32 channels_, u32 parts_)
	    : area(area_), channels(channels_), parts(parts_)
	{
		/* neighbours in memory are neighbours among threads */
		group = LAST ? i % (channels / V) : i / parts;
		part = LAST ? i / (channels / V) : i % parts;
	}
	DEVICE u32 at(u32 row) const /* in packs */
	{
		return LAST ? row * (channels / V) + group
			    : (row / area * channels + group) * area + row % area;
	}
};

template <typename T, int V, bool LAST, typename F>
DEVICE void sum_rows(float *to, u32 n, u32 area, u32 channels, u32 parts, F &two)
{
	for (EACH(i, channels / V * parts)) {
		const rows<V, LAST> r(i, area, channels, parts);
		float a[V], b[V];

		for (int v = 0; v < V; v++)
			a[v] = b[v] = 0;
		two.begin(r.group * V);
		for (u32 row = r.part; row < n; row += parts)
			two.add(r.at(row), a, b);
		for (int v = 0; v < V; v++) {
			to[(r.part * 2) * channels + r.group * V + v] = a[v];
			to[(r.part * 2 + 1) * channels + r.group * V + v] = b[v];
		}
	}
}

/* [part][width]: every @fan parts become one. */
KERNEL sum_parts(float *to, const float *from, u32 parts, u32 width, u32 fan)
{
	for (EACH(i, (parts + fan - 1) / fan * width)) {
		u32 first = i / width * fan, column = i % width;
		float sum = 0;

		for (u32 p = first; p < parts && p < first + fan; p++)
			sum += from[p * width + column];
		to[i] = sum;
	}
}

DEVICE float last_sum(const float *from, u32 parts, u32 channels, u32 which, u32 c)
{
	float sum = 0;

	for (u32 p = 0; p < parts; p++)
		sum += from[(p * 2 + which) * channels + c];
	return sum;
}

/* --- forward: distances from each channel's first value, so that squares stay small ---- */

template <typename T, int V> struct distances {
	const T *x;
	u32 inner;
	float first[V];

	DEVICE void begin(u32 channel)
	{
		for (int v = 0; v < V; v++)
			first[v] = real(x[(channel + v) * inner]);
	}
	DEVICE void add(u32 at, float *a, float *b) const
	{
		pack<T, V> p = load<T, V>(x, at);

		for (int v = 0; v < V; v++) {
			float d = real(p.v[v]) - first[v];

			a[v] += d;
			b[v] += d * d;
		}
	}
};
template <typename T, int V, bool LAST>
DEVICE void norm_sums(float *to, const T *x, u32 n, u32 area, u32 channels, u32 parts)
{
	distances<T, V> two = {x, LAST ? 1 : area, {}};

	sum_rows<T, V, LAST>(to, n, area, channels, parts, two);
}
#define PARAMS(T) (float *to, const T *x, u32 n, u32 area, u32 channels, u32 parts)
THREE(norm_sums, PARAMS, (to, x, n, area, channels, parts))
#undef PARAMS

/* Mean and 1/deviation of each channel; the running ones move, the variance as unbiased. */
template <typename T, int, bool>
DEVICE void norm_finish(float *mean, float *inverse, float *moving, const float *sums, const T *x,
			u32 inner, u32 n, u32 channels, u32 parts, float epsilon, float momentum)
{
	for (EACH(c, channels)) {
		float a = last_sum(sums, parts, channels, 0, c) / n;
		float variance = last_sum(sums, parts, channels, 1, c) / n - a * a;
		float m = real(x[c * inner]) + a, *moving_variance = moving + channels + c;

		variance = variance < 0 ? 0 : variance; /* and not a number stays that */
		mean[c] = m;
		inverse[c] = 1 / sqrtf(variance + epsilon);
		moving[c] += momentum * (m - moving[c]);
		*moving_variance +=
			momentum * (variance * (n > 1 ? n / (n - 1.0f) : 1) - *moving_variance);
	}
}
#define PARAMS(T)                                                                                  \
	(float *mean, float *inverse, float *moving, const float *sums, const T *x, u32 inner,     \
	 u32 n, u32 channels, u32 parts, float epsilon, float momentum)
THREE(norm_finish, PARAMS,
      (mean, inverse, moving, sums, x, inner, n, channels, parts, epsilon, momentum))
#undef PARAMS

/* When nothing is learned: by what was. */
KERNEL norm_use(float *mean, float *inverse, const float *moving, u32 channels, float epsilon)
{
	for (EACH(c, channels)) {
		mean[c] = moving[c];
		inverse[c] = 1 / sqrtf(moving[channels + c] + epsilon);
	}
}

/* What a thread knows of its channels, for as long as it stays with them. */
template <int V> struct known {
	u32 channel;
	float mean[V], inverse[V], scale[V], other[V];

	DEVICE bool is_new(u32 c)
	{
		bool is = c != channel;

		channel = c;
		return is;
	}
	DEVICE void learn(const float *m, const float *inv, const float *sc)
	{
		for (int v = 0; v < V; v++) {
			mean[v] = m[channel + v];
			inverse[v] = inv[channel + v];
			scale[v] = sc[channel + v] * inverse[v];
		}
	}
};

template <typename T, int V, bool>
DEVICE void norm_apply(T *y, const T *x, const float *mean, const float *inverse,
		       const float *params, u32 packs, u32 inner, u32 channels, u32 relu)
{
	known<V> k = {~0u, {}, {}, {}, {}};

	for (EACH(i, packs)) {
		pack<T, V> p = load<T, V>(x, i);

		if (k.is_new(i * V / inner % channels)) {
			k.learn(mean, inverse, params);
			for (int v = 0; v < V; v++)
				k.other[v] = params[channels + k.channel + v];
		}
		for (int v = 0; v < V; v++) {
			float made = (real(p.v[v]) - k.mean[v]) * k.scale[v] + k.other[v];

			p.v[v] = as<T>(lives(made) || !relu ? made : 0);
		}
		store<T, V>(y, i, p);
	}
}
#define PARAMS(T)                                                                                  \
	(T * y, const T *x, const float *mean, const float *inverse, const float *params,          \
	 u32 packs, u32 inner, u32 channels, u32 relu)
THREE(norm_apply, PARAMS, (y, x, mean, inverse, params, packs, inner, channels, relu))
#undef PARAMS

/* --- backward: sums of the gradient, and of it times the normalized value -------------- */

template <typename T, int V> struct moments {
	const T *dy, *y, *x; /* @x NULL: of the gradient alone */
	const float *means, *inverses;
	u32 relu;
	float mean[V], inverse[V];

	DEVICE void begin(u32 channel)
	{
		for (int v = 0; v < V && x; v++) {
			mean[v] = means[channel + v];
			inverse[v] = inverses[channel + v];
		}
	}
	DEVICE void add(u32 at, float *a, float *b) const
	{
		pack<T, V> d = load<T, V>(dy, at), made, from;

		if (relu)
			made = load<T, V>(y, at);
		if (x)
			from = load<T, V>(x, at);
		for (int v = 0; v < V; v++) {
			float g = !relu || lives(real(made.v[v])) ? real(d.v[v]) : 0;

			a[v] += g;
			if (x)
				b[v] += g * ((real(from.v[v]) - mean[v]) * inverse[v]);
		}
	}
};
template <typename T, int V, bool LAST>
DEVICE void back_sums(float *to, const T *dy, const T *y, const T *x, const float *mean,
		      const float *inverse, u32 n, u32 area, u32 channels, u32 parts, u32 relu)
{
	moments<T, V> two = {dy, y, x, mean, inverse, relu, {}, {}};

	sum_rows<T, V, LAST>(to, n, area, channels, parts, two);
}
#define PARAMS(T)                                                                                  \
	(float *to, const T *dy, const T *y, const T *x, const float *mean, const float *inverse,  \
	 u32 n, u32 area, u32 channels, u32 parts, u32 relu)
THREE(back_sums, PARAMS, (to, dy, y, x, mean, inverse, n, area, channels, parts, relu))
#undef PARAMS

/* Gradients of scale and shift (times @by), and the means that norm_back needs. */
KERNEL norm_grads(float *grads, float *means, const float *sums, u32 n, u32 channels, u32 parts,
		  float by)
{
	for (EACH(c, channels)) {
		float shift = last_sum(sums, parts, channels, 0, c);
		float scale = last_sum(sums, parts, channels, 1, c);

		grads[c] = scale * by;
		grads[channels + c] = shift * by;
		means[c] = shift / n;
		means[channels + c] = scale / n;
	}
}

KERNEL bias_grads(float *grads, const float *sums, u32 channels, u32 stored, u32 parts, float by)
{
	for (EACH(c, channels))
		grads[c] = by * last_sum(sums, parts, stored, 0, c);
}

template <typename T, int V, bool>
DEVICE void norm_back(T *dx, const T *dy, const T *y, const T *x, const float *mean,
		      const float *inverse, const float *params, const float *means, u32 packs,
		      u32 inner, u32 channels, u32 relu, u32 more)
{
	known<V> k = {~0u, {}, {}, {}, {}};
	float of_x[V] = {};

	for (EACH(i, packs)) {
		pack<T, V> d = load<T, V>(dy, i), from = load<T, V>(x, i), made, there;

		if (relu)
			made = load<T, V>(y, i);
		if (more)
			there = load<T, V>(dx, i);
		if (k.is_new(i * V / inner % channels)) {
			k.learn(mean, inverse, params);
			for (int v = 0; v < V; v++) {
				k.other[v] = means[k.channel + v];
				of_x[v] = means[channels + k.channel + v];
			}
		}
		for (int v = 0; v < V; v++) {
			float g = !relu || lives(real(made.v[v])) ? real(d.v[v]) : 0;
			float normal = (real(from.v[v]) - k.mean[v]) * k.inverse[v];

			g = k.scale[v] * (g - k.other[v] - normal * of_x[v]);
			d.v[v] = as<T>(more ? g + real(there.v[v]) : g);
		}
		store<T, V>(dx, i, d);
	}
}
#define PARAMS(T)                                                                                  \
	(T * dx, const T *dy, const T *y, const T *x, const float *mean, const float *inverse,     \
	 const float *params, const float *means, u32 packs, u32 inner, u32 channels, u32 relu,    \
	 u32 more)
THREE(norm_back, PARAMS,
      (dx, dy, y, x, mean, inverse, params, means, packs, inner, channels, relu, more))
#undef PARAMS

#endif
