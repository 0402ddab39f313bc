/*
 * Each to each as squares. One path for each colour, one stroke for each run of
 * equal squares: 512 healthy hosts are 512 strokes, not 262,144 squares.
 */
#include "probes/html/parts.h"

#include <math.h>

enum { NAMED_MAX = 16 };
#define SPREAD 8.0 /* what differs by less is much alike */

static const char *const heat_classes[HTML_HEAT] = {"", "q0", "q1", "q2", "q3", "q4", "q5", "q6"};

size_t html_grid_count(const struct html_grid *g, unsigned colour)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n * g->n; i++)
		n += g->v[i] == colour;
	return n;
}

static void path(const struct html_grid *g, unsigned colour, struct text *t)
{
	text_addf(t, "<path class=\"%s\" d=\"", g->classes[colour]);
	for (size_t y = 0; y < g->n; y++)
		for (size_t x = 0; x < g->n;) {
			size_t from = x;

			while (x < g->n && g->v[y * g->n + x] == colour)
				x++;
			if (x > from)
				text_addf(t, "M%zu %zuh%zuv1h-%zuz", from, y, x - from, x - from);
			else
				x++;
		}
	text_add(t, "\"/>\n");
}

/* The whole of a short one is its title. */
static void name_at(const char *place, const char *name, const char *shown, struct text *t)
{
	text_addf(t, "<text aria-hidden=\"true\" %s>", place);
	if (!streq(name, shown)) {
		text_add(t, "<title>");
		text_markup(t, name);
		text_add(t, "</title>");
	}
	text_markup(t, shown);
	text_add(t, "</text>\n");
}

/* Beside its row and above its column: of few hosts, nobody should have to count squares. */
static void name_hosts(const struct html_grid *g, struct text *t)
{
	const char *const *shown = html_short_names(g->hosts, g->n, t->a);
	char place[96];

	for (size_t i = 0; i < g->n; i++) {
		(void)snprintf(place, sizeof(place), "text-anchor=\"end\" x=\"-.15\" y=\"%zu.6\"",
			       i);
		name_at(place, g->hosts[i], shown[i], t);
		(void)snprintf(place, sizeof(place),
			       "transform=\"translate(%zu.4 -.15) rotate(-40)\"", i);
		name_at(place, g->hosts[i], shown[i], t);
	}
}

void html_grid_draw(const struct html_grid *g, const char *label, const char *map, struct text *t)
{
	bool named = g->hosts && g->n <= NAMED_MAX;

	text_addf(t, "<svg class=\"heat\"%s style=\"max-width:%zurem\" role=\"img\" ",
		  named ? " data-named" : "", 3 * g->n);
	if (map)
		text_addf(t, "tabindex=\"0\" data-n=\"%zu\" data-map=\"%s\" ", g->n, map);
	text_addf(
		t,
		"viewBox=\"0 0 %zu %zu\" shape-rendering=\"crispEdges\" aria-label=\"%s: from the "
		"host of a row to the host of a column%s\">\n",
		g->n, g->n, label, map ? "; the arrow keys move" : "");
	for (unsigned c = 1; c < g->nclasses; c++)
		if (html_grid_count(g, c))
			path(g, c, t);
	if (named)
		name_hosts(g, t);
	text_add(t, "</svg>");
	text_add(t, map ? "<p><output aria-live=\"polite\" class=\"mono\"></output></p>\n" : "\n");
}

void html_grid_key(const struct html_grid *g, const char *const *names, struct text *t)
{
	text_add(t, "<p>");
	for (unsigned c = 1; c < g->nclasses; c++)
		if (html_grid_count(g, c))
			text_addf(t,
				  "<span class=\"nb\"><span class=\"key k-%s\"></span>%s: "
				  "%zu</span> ",
				  g->classes[c], names[c], html_grid_count(g, c));
	text_add(t, "</p>\n");
}

/* The worst pair of a square is its colour. */
size_t html_grid_coarsen(double *v, size_t n, bool more_is_better)
{
	enum { FINE_MAX = 128 };
	size_t step = (n + FINE_MAX - 1) / FINE_MAX, m = (n + step - 1) / step;

	for (size_t y = 0; y < m && step > 1; y++)
		for (size_t x = 0; x < m; x++) {
			double worst = NAN;

			for (size_t i = y * step; i < n && i < (y + 1) * step; i++)
				for (size_t k = x * step; k < n && k < (x + 1) * step; k++)
					worst = more_is_better ? fmin(worst, v[i * n + k])
							       : fmax(worst, v[i * n + k]);
			v[y * m + x] = worst; /* before all that is still to be read */
		}
	return m;
}

bool html_grid_heat(struct html_grid *g, const double *v, const struct html_scale *scale,
		    struct arena *a, const char **ret_names)
{
	enum { STEPS = HTML_HEAT - 1 };
	double least = INFINITY, most = 0, step;

	for (size_t i = 0; i < g->n * g->n; i++)
		if (v[i] > 0) {
			least = fmin(least, v[i]);
			most = fmax(most, v[i]);
		}
	if (!(most > 0))
		return false;
	most = fmax(most, scale->harmless);
	step = fmax(log(most / least), log(SPREAD)) / STEPS;
	for (size_t i = 0; i < g->n * g->n; i++) {
		double at = !(v[i] > 0)		    ? NAN
			    : scale->more_is_better ? log(most / v[i]) / step
						    : log(v[i] / least) / step;

		g->v[i] = !(at >= 0) ? 0 : (unsigned char)(1 + (at < STEPS ? at : STEPS - 1));
	}
	g->classes = heat_classes;
	g->nclasses = HTML_HEAT;
	ret_names[0] = "";
	for (int c = 1; c < HTML_HEAT; c++)
		ret_names[c] = scale->more_is_better
				       ? arena_printf(a, "from %.3g %s", most * exp(-step * c),
						      scale->unit)
				       : arena_printf(a, "up to %.3g %s", least * exp(step * c),
						      scale->unit);
	return true;
}

void html_grid_shares(struct html_grid *g, const double *v, const char **ret_names)
{
	static const double most[HTML_HEAT] = {0, 0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, INFINITY};
	static const char *const names[HTML_HEAT] = {
		"",	     "none",	  "up to 0.01 %", "up to 0.1 %", "up to 0.3 %",
		"up to 1 %", "up to 3 %", "more"};

	for (size_t i = 0; i < g->n * g->n; i++) {
		unsigned char c = v[i] >= 0 ? 1 : 0;

		while (c && c < HTML_HEAT - 1 && v[i] > most[c])
			c++;
		g->v[i] = c;
	}
	g->classes = heat_classes;
	g->nclasses = HTML_HEAT;
	for (int c = 0; c < HTML_HEAT; c++)
		ret_names[c] = names[c];
}
