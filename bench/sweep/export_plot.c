#include "bench/sweep/export.h"

#include "lib/core/file.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

#include <math.h>

enum { WIDTH = 760, PANEL = 300, LEFT = 80, RIGHT = 150, TOP = 40, GAP = 70, COLORS = 6 };
enum { TEXT_ROWS = 10, TEXT_LEFT = 10 };

static const char *const colors[COLORS] = {"#1f77b4", "#d62728", "#2ca02c",
					   "#9467bd", "#ff7f0e", "#17becf"};

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

static const char *escaped(struct arena *a, const char *s)
{
	struct text t;

	text_init(&t, a);
	for (; *s; s++)
		if (*s == '<' || *s == '&' || *s == '>')
			text_addf(&t, "&#%d;", *s);
		else if ((unsigned char)*s >= ' ')
			text_addn(&t, s, 1);
	return t.s;
}

static void frame(struct text *t, const struct scale *x, const struct scale *y, int top,
		  const char *title)
{
	double w = WIDTH - LEFT - RIGHT;
	int every = x->high - x->low > 14 ? 4 : 2;

	text_addf(t, "<text x='%d' y='%d' font-weight='bold'>%s</text>\n", LEFT, top - 12, title);
	for (double v = x->low; v <= x->high; v++) {
		double px = LEFT + (v - x->low) / (x->high - x->low) * w;
		struct unit_buf b;

		if ((int)(v - x->low) % every)
			continue;
		text_addf(t,
			  "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#ddd'/><text "
			  "x='%.1f' y='%d' text-anchor='middle'>%s</text>\n",
			  px, px, top, top + PANEL, px, top + PANEL + 18,
			  format_size(&b, (uint64_t)exp2(v)));
	}
	for (double v = y->low; v <= y->high; v++) {
		double py = top + PANEL - (v - y->low) / (y->high - y->low) * PANEL;

		text_addf(t,
			  "<line x1='%d' x2='%.1f' y1='%.1f' y2='%.1f' stroke='#ddd'/><text "
			  "x='%d' y='%.1f' text-anchor='end'>%g</text>\n",
			  LEFT, LEFT + w, py, py, LEFT - 8, py + 4, pow(10, v));
	}
}

static void lines(struct text *t, const plot_runs *runs, int what, int top)
{
	struct scale x = scale_of(runs, 0, 2), y = scale_of(runs, what, 10);
	double w = WIDTH - LEFT - RIGHT;

	frame(t, &x, &y, top, what == 1 ? "Bus bandwidth, GB/s" : "Time, us");
	for (size_t i = 0; i < runs->n; i++) {
		const struct plot_run *run = &runs->v[i];
		const char *color = colors[i % COLORS];

		text_addf(t, "<polyline fill='none' stroke-width='2' stroke='%s' points='", color);
		for (size_t k = 0; k < run->points.n; k++) {
			const struct plot_point *p = &run->points.v[k];

			if (p->bytes > 0 && value_of(p, what) > 0)
				text_addf(t, "%.1f,%.1f ", LEFT + at(&x, p->bytes, 2) * w,
					  top + PANEL - at(&y, value_of(p, what), 10) * PANEL);
		}
		text_addf(t, "'/>\n<text x='%d' y='%d' fill='%s'>%s</text>\n", WIDTH - RIGHT + 10,
			  top + 14 + (int)i * 18, color, escaped(t->a, run->name));
	}
}

int plot_svg(const plot_runs *runs, struct arena *a, const char *path, struct err *e)
{
	struct text t;

	text_init(&t, a);
	text_addf(&t,
		  "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
		  "font-family='sans-serif' font-size='12'>\n<rect width='100%%' height='100%%' "
		  "fill='white'/>\n",
		  WIDTH, TOP + 2 * PANEL + GAP + 40);
	lines(&t, runs, 1, TOP);
	lines(&t, runs, 2, TOP + PANEL + GAP);
	text_add(&t, "</svg>\n");
	return file_replace(path, t.s, t.n, &(struct file_replace_opts){0}, e);
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
