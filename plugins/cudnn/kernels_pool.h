#ifndef PLUGINS_CUDNN_KERNELS_POOL_H
#define PLUGINS_CUDNN_KERNELS_POOL_H
/* Part of kernels.cu: the largest of each window, and the mean of an image. */

struct window {
	u32 side, made, k, stride, pad; /* of what it reads; of what it makes */
};

/* The pack of image @n, pixel @p and channels @g; @groups of them (of V). */
template <bool LAST> DEVICE u32 pack_at(u32 n, u32 p, u32 g, u32 area, u32 groups)
{
	return LAST ? (n * area + p) * groups + g : (n * groups + g) * area + p;
}
template <bool LAST> DEVICE void split(u32 i, u32 area, u32 groups, u32 *n, u32 *p, u32 *g)
{
	*g = LAST ? i % groups : i / area % groups;
	*p = LAST ? i / groups % area : i % area;
	*n = i / groups / area;
}

/* @taken: which of the window's places it was, row by row: the first of equals. */
template <typename T, int V, bool LAST>
DEVICE void pool(T *y, unsigned char *taken, const T *x, u32 packs, u32 groups, window w)
{
	for (EACH(i, packs)) {
		pack<unsigned char, V> place;
		pack<T, V> best;
		u32 n, p, g;

		split<LAST>(i, w.made * w.made, groups, &n, &p, &g);
		for (int v = 0; v < V; v++) {
			place.v[v] = 255;
			best.v[v] = as<T>(0);
		}
		for (u32 tap = 0; tap < w.k * w.k; tap++) {
			/* below zero is far above every side */
			u32 row = p / w.made * w.stride + tap / w.k - w.pad;
			u32 column = p % w.made * w.stride + tap % w.k - w.pad;
			pack<T, V> from;

			if (row >= w.side || column >= w.side)
				continue;
			from = load<T, V>(x, pack_at<LAST>(n, row * w.side + column, g,
							   w.side * w.side, groups));
			for (int v = 0; v < V; v++) {
				float f = real(from.v[v]);

				if (place.v[v] == 255 || f > real(best.v[v]) || f != f) {
					place.v[v] = (unsigned char)tap;
					best.v[v] = from.v[v];
				}
			}
		}
		store<T, V>(y, i, best);
		store<unsigned char, V>(taken, i, place);
	}
}
#define PARAMS(T) (T * y, unsigned char *taken, const T *x, u32 packs, u32 groups, window w)
THREE(pool, PARAMS, (y, taken, x, packs, groups, w))
#undef PARAMS

/* What was read asks each window that it is in: nothing is added up in any other order. */
template <typename T, int V, bool LAST>
DEVICE void pool_back(T *dx, const T *dy, const unsigned char *taken, u32 packs, u32 groups,
		      window w, u32 more)
{
	for (EACH(i, packs)) {
		u32 n, p, g, row, column, first_row, first_column;
		pack<T, V> there;
		float sum[V];

		split<LAST>(i, w.side * w.side, groups, &n, &p, &g);
		row = p / w.side + w.pad;
		column = p % w.side + w.pad;
		first_row = row < w.k ? 0 : (row - w.k) / w.stride + 1;
		first_column = column < w.k ? 0 : (column - w.k) / w.stride + 1;
		if (more)
			there = load<T, V>(dx, i);
		for (int v = 0; v < V; v++)
			sum[v] = more ? real(there.v[v]) : 0;
		for (u32 r = first_row; r < w.made && r * w.stride <= row; r++)
			for (u32 c = first_column; c < w.made && c * w.stride <= column; c++) {
				u32 tap = (row - r * w.stride) * w.k + column - c * w.stride;
				u32 at = pack_at<LAST>(n, r * w.made + c, g, w.made * w.made,
						       groups);
				pack<unsigned char, V> place = load<unsigned char, V>(taken, at);
				pack<T, V> d = load<T, V>(dy, at);

				for (int v = 0; v < V; v++)
					sum[v] += place.v[v] == tap ? real(d.v[v]) : 0;
			}
		for (int v = 0; v < V; v++)
			there.v[v] = as<T>(sum[v]);
		store<T, V>(dx, i, there);
	}
}
#define PARAMS(T)                                                                                  \
	(T * dx, const T *dy, const unsigned char *taken, u32 packs, u32 groups, window w, u32 more)
THREE(pool_back, PARAMS, (dx, dy, taken, packs, groups, w, more))
#undef PARAMS

/* --- the mean: one value of each channel and image ------------------------------------- */

template <typename T, int, bool LAST>
DEVICE void mean(T *y, const T *x, u32 n, u32 channels, u32 area)
{
	for (EACH(i, n)) {
		float sum = 0;

		for (u32 p = 0; p < area; p++)
			sum += real(
				x[pack_at<LAST>(i / channels, p, i % channels, area, channels)]);
		y[i] = as<T>(sum / area);
	}
}
#define PARAMS(T) (T * y, const T *x, u32 n, u32 channels, u32 area)
THREE(mean, PARAMS, (y, x, n, channels, area))
#undef PARAMS

template <typename T, int, bool LAST>
DEVICE void mean_back(T *dx, const T *dy, u32 n, u32 channels, u32 area, u32 more)
{
	for (EACH(i, n)) {
		u32 image, p, c;
		float d;

		split<LAST>(i, area, channels, &image, &p, &c);
		d = real(dy[image * channels + c]) / area;
		dx[i] = as<T>(more ? d + real(dx[i]) : d);
	}
}
#define PARAMS(T) (T * dx, const T *dy, u32 n, u32 channels, u32 area, u32 more)
THREE(mean_back, PARAMS, (dx, dy, n, channels, area, more))
#undef PARAMS

#endif
