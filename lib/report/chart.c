#include "lib/report/chart.h"

#include "lib/core/units.h"

#include <math.h>

enum { W = CHART_WIDTH, H = CHART_HEIGHT, LEFT = 64, RIGHT = 16, TOP = 12, BOTTOM = 44 };
enum { POINTS_SEEN = 200 /* of more a line is seen, and no point in it */ };

struct axes {
	const struct chart *c;
	int top; /* of all of it */
	double x0, x1, y0, y1;
};

static double scaled(const struct chart *c, double v) { return c->log ? log10(v) : v; }

static double at_x(const struct axes *x, double v)
{
	return LEFT + (scaled(x->c, v) - x->x0) / (x->x1 - x->x0) * (W - LEFT - RIGHT);
}

static double at_y(const struct axes *x, double v)
{
	return x->top + H - BOTTOM -
	       (scaled(x->c, v) - x->y0) / (x->y1 - x->y0) * (H - TOP - BOTTOM);
}

static bool is_drawn(const struct chart *c, const struct chart_point *p)
{
	return isfinite(p->x) && isfinite(p->y) && (!c->log || (p->x > 0 && p->y > 0));
}

static size_t measure(struct axes *x, const chart_lines *lines)
{
	size_t n = 0;

	x->x0 = x->y0 = INFINITY;
	x->x1 = x->y1 = -INFINITY;
	for (size_t i = 0; i < lines->n; i++)
		for (size_t k = 0; k < lines->v[i].points.n; k++) {
			const struct chart_point *p = &lines->v[i].points.v[k];

			if (!is_drawn(x->c, p))
				continue;
			n++;
			x->x0 = fmin(x->x0, scaled(x->c, p->x));
			x->x1 = fmax(x->x1, scaled(x->c, p->x));
			x->y0 = fmin(x->y0, x->c->log ? floor(scaled(x->c, p->y)) : 0);
			x->y1 = fmax(x->y1, x->c->log ? ceil(scaled(x->c, p->y)) : p->y);
		}
	if (!(x->x1 > x->x0))
		x->x1 = x->x0 + 1;
	if (!(x->y1 > x->y0))
		x->y1 = x->y0 + 1;
	return n;
}

/* A document may say anything. */
static const char *said_y(const struct chart *c, struct unit_buf *b, double v)
{
	bool is_time = c->durations && v >= 1e-3 && v < 1e15;

	return is_time ? format_duration(b, (uint64_t)(v * 1e3 + 0.5)) : format_number(b, v);
}

static const char *said_x(const struct chart *c, struct unit_buf *b, double v)
{
	bool is_size = c->sizes && v >= 0 && v < 0x1p63;

	return is_size ? format_size(b, (uint64_t)v) : format_number(b, v);
}

static void tick_y(const struct axes *x, double v, struct text *t)
{
	struct unit_buf b;

	text_addf(t,
		  "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"dim\" x=\"%d\" y=\"%.1f\" "
		  "text-anchor=\"end\">%s</text>\n",
		  LEFT, at_y(x, v), W - RIGHT, LEFT - 6, at_y(x, v) + 4, said_y(x->c, &b, v));
}

static void tick_x(const struct axes *x, double v, struct text *t)
{
	int bottom = x->top + H - BOTTOM;
	struct unit_buf b;

	text_addf(t,
		  "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"dim\" x=\"%.1f\" y=\"%d\" "
		  "text-anchor=\"middle\">%s</text>\n",
		  at_x(x, v), x->top + TOP, bottom, at_x(x, v), bottom + 16, said_x(x->c, &b, v));
}

/* 1, 2 or 5 of a power of ten: four to ten of them fit. */
static double round_step(double from, double to)
{
	double power = pow(10, floor(log10((to - from) / 4)));
	double of = (to - from) / 4 / power;

	return power * (of >= 5 ? 5 : of >= 2 ? 2 : 1);
}

static double first(double from, double step) { return ceil(from / step) * step; }

/* Ends also where @v is so large that a step does not change it. */
static double next(double v, double step)
{
	double after = v + step;

	return after > v ? after : INFINITY;
}

static void grid(const struct axes *x, struct text *t)
{
	enum { SIZE_STEP = 8, DECADES = 12 };
	double step = ceil((x->y1 - x->y0) / DECADES);
	double step_y = round_step(x->y0, x->y1), step_x = round_step(x->x0, x->x1);

	if (x->c->whole)
		step_x = fmax(step_x, 1);
	if (x->c->log)
		for (double e = ceil(x->y0); e <= x->y1 + 1e-9 && isfinite(pow(10, e)); e += step)
			tick_y(x, pow(10, e), t);
	else
		for (double v = first(x->y0, step_y); v <= x->y1; v = next(v, step_y))
			tick_y(x, v, t);
	if (x->c->sizes)
		for (double v = SIZE_STEP; v < 0x1p63 && v <= pow(10, x->x1) * 1.001;
		     v *= SIZE_STEP) {
			if (v >= pow(10, x->x0) * 0.999)
				tick_x(x, v, t);
		}
	else
		for (double v = first(x->x0, step_x); v <= x->x1; v = next(v, step_x))
			tick_x(x, v, t);
	text_addf(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (W + LEFT) / 2,
		  x->top + H - 8);
	text_markup(t, x->c->x);
	text_addf(t,
		  "</text><text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" "
		  "text-anchor=\"middle\">",
		  x->top + H / 2, x->top + H / 2);
	text_markup(t, x->c->y);
	text_add(t, "</text>\n");
}

static void line(const struct axes *x, const struct chart_line *l, size_t colour, struct text *t)
{
	struct unit_buf at, is;

	text_addf(t, "<polyline class=\"l%zu\" points=\"", colour % CHART_COLORS);
	for (size_t k = 0; k < l->points.n; k++)
		if (is_drawn(x->c, &l->points.v[k]))
			text_addf(t, "%.1f,%.1f ", at_x(x, l->points.v[k].x),
				  at_y(x, l->points.v[k].y));
	text_add(t, "\"/>\n");
	if (l->points.n > POINTS_SEEN)
		return;
	for (size_t k = 0; k < l->points.n; k++) {
		const struct chart_point *p = &l->points.v[k];

		if (!is_drawn(x->c, p))
			continue;
		text_addf(t, "<circle class=\"l%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>",
			  colour % CHART_COLORS, at_x(x, p->x), at_y(x, p->y));
		text_markup(t, l->name);
		text_addf(t, ": %s, %s</title></circle>\n", said_x(x->c, &at, p->x),
			  said_y(x->c, &is, p->y));
	}
}

bool chart_draw(const struct chart *c, const chart_lines *lines, int top, struct text *t)
{
	struct axes x = {.c = c, .top = top};

	if (!measure(&x, lines))
		return false;
	grid(&x, t);
	for (size_t i = 0; i < lines->n; i++)
		line(&x, &lines->v[i], i, t);
	return true;
}

bool chart_has_points(const struct chart *c, const chart_lines *lines)
{
	struct axes x = {.c = c};

	return measure(&x, lines);
}

/* --- a picture -------------------------------------------------------------------- */

enum { TITLE = 22, ROW = 18, HEADING = 34, EDGE = 12, LETTER = 7 /* about as wide */ };

static const char looks[] =
	"<style>text{font:12px system-ui,sans-serif;fill:#1f2328}.back{fill:#fff}.dim{fill:#59636e}"
	".grid{stroke:#d8dee4}polyline{fill:none;stroke-width:2}.b{font-weight:bold;font-size:14px}"
	".l0{stroke:#0a77c9;color:#0a77c9}.l1{stroke:#d1660f;color:#d1660f}"
	".l2{stroke:#2f9e5b;color:#2f9e5b}.l3{stroke:#a845c9;color:#a845c9}"
	".l4{stroke:#c62f3b;color:#c62f3b}.l5{stroke:#7a6a00;color:#7a6a00}"
	"circle{fill:currentColor}"
	"@media(prefers-color-scheme:dark){text{fill:#e6edf3}.back{fill:#0d1117}.dim{fill:#9198a1}"
	".grid{stroke:#2f353d}}</style>\n";

/* @ret_y: where it goes on. */
static void put_title(struct text *t, const char *title, int *ret_y)
{
	for (const char *end; *title; title = *end ? end + 1 : end) {
		bool first = *ret_y == 0;

		end = title + strcspn(title, "\n");
		*ret_y += first ? TITLE : ROW;
		text_addf(t, "<text class=\"%s\" x=\"%d\" y=\"%d\">", first ? "b" : "dim", EDGE,
			  *ret_y);
		text_markup(t, arena_strndup(t->a, title, (size_t)(end - title)));
		text_add(t, "</text>\n");
	}
}

/* The lines' names, as many in a row as have room. */
static void put_names(struct text *t, const chart_lines *lines, int *ret_y)
{
	int at = EDGE;

	*ret_y += ROW;
	for (size_t i = 0; i < lines->n; i++) {
		int width = 3 * EDGE + LETTER * (int)strlen(lines->v[i].name);

		if (at > EDGE && at + width > W - RIGHT) {
			at = EDGE;
			*ret_y += ROW;
		}
		text_addf(t,
			  "<circle class=\"l%zu\" cx=\"%d\" cy=\"%d\" r=\"4\"/><text x=\"%d\" "
			  "y=\"%d\">",
			  i % CHART_COLORS, at + 4, *ret_y - 4, at + EDGE, *ret_y);
		text_markup(t, lines->v[i].name);
		text_add(t, "</text>\n");
		at += width;
	}
}

const char *chart_svg(const char *title, const struct chart_panel *panels, size_t n,
		      struct arena *a)
{
	struct text all, t;
	int y = 0;

	text_init(&t, a);
	put_title(&t, title, &y);
	if (n)
		put_names(&t, &panels[0].lines, &y);
	for (size_t i = 0; i < n; i++) {
		if (!chart_has_points(&panels[i].chart, &panels[i].lines))
			continue;
		text_addf(&t, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", LEFT,
			  y + HEADING - 6);
		text_markup(&t, panels[i].chart.title);
		text_add(&t, "</text>\n");
		y += HEADING - TOP;
		(void)chart_draw(&panels[i].chart, &panels[i].lines, y, &t);
		y += H;
	}
	text_init(&all, a);
	text_addf(&all,
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %d %d\" "
		  "width=\"%d\" height=\"%d\">\n<title>",
		  W, y, W, y);
	text_markup(&all, title);
	text_addf(&all, "</title>\n%s<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n%s</svg>\n",
		  looks, W, y, t.s);
	return all.s;
}
