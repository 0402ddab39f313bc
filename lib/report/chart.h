#ifndef LIB_REPORT_CHART_H
#define LIB_REPORT_CHART_H
/* Lines over two axes, as SVG: within a page, or as a picture of its own. */
#include "lib/core/text.h"

struct chart_point {
	double x, y;
};
struct chart_line {
	const char *name;
	LIST(struct chart_point) points;
};
typedef LIST(struct chart_line) chart_lines;
struct chart {
	const char *title, *x, *y; /* "size", "GB/s" */
	bool log, sizes;	   /* both axes logarithmic; x in bytes */
	bool durations;		   /* y in microseconds, told as people do: "10 us", "1 ms" */
	bool whole;		   /* between two whole numbers of x there is nothing */
};

enum { CHART_WIDTH = 720, CHART_HEIGHT = 320, CHART_COLORS = 6 };

/*
 * Axes, lines and points, the names of which are read where they are pointed at; its upper end is
 * at @top of an <svg>. Who has that gives the classes grid, dim and l0 to l5 their looks. False,
 * and nothing is drawn: there is no point.
 */
bool chart_draw(const struct chart *c, const chart_lines *lines, int top, struct text *t);
bool chart_has_points(const struct chart *c, const chart_lines *lines);

struct chart_panel {
	struct chart chart;
	chart_lines lines; /* by the same colours and names in all of them */
};
/* One above the other, a picture that stands alone, light or dark as its reader's screen is.
 * @title may be of several lines. */
const char *chart_svg(const char *title, const struct chart_panel *panels, size_t n,
		      struct arena *a);

#endif
