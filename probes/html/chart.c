/* Lines over two axes, as SVG. */
#include "lib/core/units.h"
#include "probes/html/parts.h"

#include <math.h>

enum { W = 720, H = 320, LEFT = 64, RIGHT = 16, TOP = 12, BOTTOM = 44, LINES = 6 };

struct axes {
	const struct html_chart *c;
	double x0, x1, y0, y1;
};

static double scaled(const struct html_chart *c, double v) { return c->log ? log10(v) : v; }

static double at_x(const struct axes *x, double v)
{
	return LEFT + (scaled(x->c, v) - x->x0) / (x->x1 - x->x0) * (W - LEFT - RIGHT);
}

static double at_y(const struct axes *x, double v)
{
	return H - BOTTOM - (scaled(x->c, v) - x->y0) / (x->y1 - x->y0) * (H - TOP - BOTTOM);
}

static bool is_drawn(const struct html_chart *c, const struct html_point *p)
{
	return isfinite(p->x) && isfinite(p->y) && (!c->log || (p->x > 0 && p->y > 0));
}

static size_t measure(struct axes *x, const html_lines *lines)
{
	size_t n = 0;

	x->x0 = x->y0 = INFINITY;
	x->x1 = x->y1 = -INFINITY;
	for (size_t i = 0; i < lines->n; i++)
		for (size_t k = 0; k < lines->v[i].points.n; k++) {
			const struct html_point *p = &lines->v[i].points.v[k];

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

static void tick_y(const struct axes *x, double v, struct text *t)
{
	struct unit_buf b;

	text_addf(t,
		  "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"dim\" x=\"%d\" y=\"%.1f\" "
		  "text-anchor=\"end\">%s</text>\n",
		  LEFT, at_y(x, v), W - RIGHT, LEFT - 6, at_y(x, v) + 4, format_number(&b, v));
}

static void tick_x(const struct axes *x, double v, struct text *t)
{
	struct unit_buf b;

	text_addf(t,
		  "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"dim\" x=\"%.1f\" y=\"%d\" "
		  "text-anchor=\"middle\">",
		  at_x(x, v), TOP, H - BOTTOM, at_x(x, v), H - BOTTOM + 16);
	if (x->c->sizes)
		text_addf(t, "%s</text>\n", format_size(&b, (uint64_t)v));
	else
		text_addf(t, "%.3g</text>\n", v);
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
	text_addf(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (W + LEFT) / 2, H - 8);
	html_text(t, x->c->x);
	text_addf(t,
		  "</text><text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" "
		  "text-anchor=\"middle\">",
		  H / 2, H / 2);
	html_text(t, x->c->y);
	text_add(t, "</text>\n");
}

static void line(const struct axes *x, const struct html_line *l, size_t colour, struct text *t)
{
	text_addf(t, "<polyline class=\"l%zu\" points=\"", colour % LINES);
	for (size_t k = 0; k < l->points.n; k++)
		if (is_drawn(x->c, &l->points.v[k]))
			text_addf(t, "%.1f,%.1f ", at_x(x, l->points.v[k].x),
				  at_y(x, l->points.v[k].y));
	text_add(t, "\"/>\n");
	for (size_t k = 0; k < l->points.n; k++) {
		const struct html_point *p = &l->points.v[k];

		if (!is_drawn(x->c, p))
			continue;
		text_addf(t, "<circle class=\"l%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>",
			  colour % LINES, at_x(x, p->x), at_y(x, p->y));
		html_text(t, l->name);
		text_addf(t, ": %g, %.4g</title></circle>", p->x, p->y);
	}
}

void html_draw(const struct html_chart *c, const html_lines *lines, struct text *t)
{
	struct axes x = {.c = c};

	if (!measure(&x, lines))
		return;
	text_add(t, "<h3>");
	html_text(t, c->title);
	text_addf(t, "</h3><svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" aria-label=\"", W,
		  H, W);
	html_text(t, c->title);
	text_add(t, "; the numbers are in the table below\">\n");
	grid(&x, t);
	for (size_t i = 0; i < lines->n; i++)
		line(&x, &lines->v[i], i, t);
	text_add(t, "</svg><p>");
	for (size_t i = 0; i < lines->n; i++) {
		text_addf(t, "<span class=\"l%zu\" style=\"color:var(--l)\">&#9679;</span> ",
			  i % LINES);
		html_text(t, lines->v[i].name);
		text_add(t, " &nbsp; ");
	}
	text_add(t, "</p>\n");
}
