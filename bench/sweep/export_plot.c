#include "bench/sweep/export.h"

#include "lib/core/text.h"
#include "lib/core/units.h"
#include "lib/report/chart.h"

#include <math.h>

enum { TEXT_ROWS = 10, TEXT_LEFT = 10 };

/* --- scales -------------------------------------------------------------------------- */

struct scale {
	double low, high; /* logarithms */
};

static double value_of(const struct plot_point *p, int what)
{
	return what == 0 ? p->bytes : what == 1 ? p->busbw : p->latency_us;
}

static struct scale scale_of(const plot_runs *runs, int what, double base)
{
	struct scale s = {INFINITY, -INFINITY};

	for (size_t i = 0; i < runs->n; i++)
		for (size_t k = 0; k < runs->v[i].points.n; k++) {
			double v = value_of(&runs->v[i].points.v[k], what);

			if (v <= 0)
				continue;
			s.low = fmin(s.low, log(v) / log(base));
			s.high = fmax(s.high, log(v) / log(base));
		}
	if (s.low > s.high)
		s = (struct scale){0, 1};
	s.low = floor(s.low);
	s.high = fmax(ceil(s.high), s.low + 1);
	return s;
}

static double at(const struct scale *s, double v, double base)
{
	return (log(v) / log(base) - s->low) / (s->high - s->low);
}

/* --- SVG ------------------------------------------------------------------------------ */

static chart_lines lines_of(const plot_runs *runs, int what, struct arena *a)
{
	chart_lines all = {0};

	for (size_t i = 0; i < runs->n; i++) {
		struct chart_line *l = LIST_ADD(a, &all);

		l->name = runs->v[i].name;
		for (size_t k = 0; k < runs->v[i].points.n; k++) {
			const struct plot_point *p = &runs->v[i].points.v[k];

			*LIST_ADD(a, &l->points) =
				(struct chart_point){p->bytes, value_of(p, what)};
		}
	}
	return all;
}

const char *plot_svg(const plot_runs *runs, const char *title, struct arena *a)
{
	const struct chart_panel panels[] = {
		{{"Bus bandwidth", "size", "GB/s", .log = true, .sizes = true},
		 lines_of(runs, 1, a)},
		{{"Time", "size", "time", .log = true, .sizes = true, .durations = true},
		 lines_of(runs, 2, a)}};

	return chart_svg(title, panels, ARRAY_LEN(panels), a);
}

/* --- a terminal ----------------------------------------------------------------------- */

static char letter_of(size_t i) { return (char)('a' + i % 26); }

const char *plot_text(const plot_runs *runs, size_t width, struct arena *a)
{
	struct scale x = scale_of(runs, 0, 2), y = scale_of(runs, 1, 10);
	size_t w = width > TEXT_LEFT + 20 ? width - TEXT_LEFT - 4 : 20;
	char *cells = arena_alloc(a, TEXT_ROWS * w);
	struct unit_buf from, to;
	struct text t;

	memset(cells, ' ', TEXT_ROWS * w);
	for (size_t i = 0; i < runs->n; i++)
		for (size_t k = 0; k < runs->v[i].points.n; k++) {
			const struct plot_point *p = &runs->v[i].points.v[k];
			size_t col, row;

			if (p->bytes <= 0 || p->busbw <= 0)
				continue;
			col = (size_t)(at(&x, p->bytes, 2) * (double)(w - 1) + 0.5);
			row = (size_t)((1 - at(&y, p->busbw, 10)) * (TEXT_ROWS - 1) + 0.5);
			cells[row * w + col] = runs->n > 1 ? letter_of(i) : '*';
		}
	text_init(&t, a);
	text_add(&t, "# bus bandwidth, GB/s, over size\n");
	for (size_t row = 0; row < TEXT_ROWS; row++) {
		double v = y.high - (y.high - y.low) * (double)row / (TEXT_ROWS - 1);

		text_addf(&t, "# %*.3g |%.*s\n", TEXT_LEFT - 3, pow(10, v), (int)w,
			  cells + row * w);
	}
	text_addf(&t, "# %*s +%s\n", TEXT_LEFT - 3, "", "-");
	text_addf(&t, "# %*s  %-*s%s\n", TEXT_LEFT - 3, "", (int)w - 10,
		  format_size(&from, (uint64_t)exp2(x.low)),
		  format_size(&to, (uint64_t)exp2(x.high)));
	for (size_t i = 0; i < runs->n && runs->n > 1; i++)
		text_addf(&t, "# %*c  %s\n", TEXT_LEFT - 3, letter_of(i), runs->v[i].name);
	return t.s;
}
