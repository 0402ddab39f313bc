/* A chart of the page, with its heading and the names of its lines. */
#include "probes/html/parts.h"

void html_draw(const struct chart *c, const chart_lines *lines, struct text *t)
{
	if (!chart_has_points(c, lines))
		return;
	text_add(t, "<h3>");
	text_markup(t, c->title);
	text_addf(t, "</h3><svg role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" aria-label=\"",
		  CHART_WIDTH, CHART_HEIGHT, CHART_WIDTH);
	text_markup(t, c->title);
	text_add(t, "; the numbers are in the table below\">\n");
	(void)chart_draw(c, lines, 0, t);
	text_add(t, "</svg><p>");
	for (size_t i = 0; i < lines->n; i++) {
		text_addf(t, "<span class=\"l%zu\" style=\"color:var(--l)\">&#9679;</span> ",
			  i % CHART_COLORS);
		text_markup(t, lines->v[i].name);
		text_add(t, " &nbsp; ");
	}
	text_add(t, "</p>\n");
}
