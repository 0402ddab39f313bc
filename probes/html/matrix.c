/*
 * Each host to each as a heat map. One path for each colour, one stroke for each
 * run of equal squares: 512 healthy hosts are 512 strokes, not 262,144 squares.
 */
#include "probes/html/parts.h"

#include <math.h>

enum { COLOURS = 7, FINE_MAX = 128, PAIRS_MAX = 200, MATRIX_MAX = 1024 };
#define SPREAD 8.0 /* answers that differ by less are much alike */

struct grid {
	size_t n;
	unsigned char *v; /* n * n colours; 0: nothing */
	const char *const *classes;
	size_t nclasses;
};

static const char *const state_classes[] = {"", "m-ok", "m-part", "m-bad", "m-none"};
static const char *const state_names[] = {"", "every port answers", "some ports do not",
					  "none answers", "not tested"};
static const char *const heat_classes[] = {"", "q0", "q1", "q2", "q3", "q4", "q5", "q6"};

static size_t count(const struct grid *g, unsigned colour)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n * g->n; i++)
		n += g->v[i] == colour;
	return n;
}

static void path(const struct grid *g, unsigned colour, struct text *t)
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

/* @walk: the arrow keys and the pointer say whose square it is. */
static void draw(const struct grid *g, const char *label, bool walk, struct text *t)
{
	text_addf(t, "<svg class=\"heat\" style=\"max-width:%zurem\" role=\"img\" ", 3 * g->n);
	if (walk)
		text_addf(t, "tabindex=\"0\" data-n=\"%zu\" ", g->n);
	text_addf(
		t,
		"viewBox=\"0 0 %zu %zu\" shape-rendering=\"crispEdges\" aria-label=\"%s: from the "
		"host of a row to the host of a column%s\">\n",
		g->n, g->n, label, walk ? "; the arrow keys move" : "");
	for (unsigned c = 1; c < g->nclasses; c++)
		if (count(g, c))
			path(g, c, t);
	text_add(t, "</svg>");
	text_add(t, walk ? "<p><output aria-live=\"polite\" class=\"mono\"></output></p>\n" : "\n");
}

static void key(const struct grid *g, const char *const *names, struct text *t)
{
	text_add(t, "<p>");
	for (unsigned c = 1; c < g->nclasses; c++)
		if (count(g, c))
			text_addf(t, "<span class=\"key k-%s\"></span>%s: %zu", g->classes[c],
				  names[c], count(g, c));
	text_add(t, "</p>\n");
}

static unsigned char colour_of(const char *cell)
{
	if (streq(cell, "self"))
		return 0;
	if (streq(cell, "ok"))
		return 1;
	if (streq(cell, "partial"))
		return 2;
	return streq(cell, "unknown") ? 4 : 3;
}

static void states(const cJSON *matrix, struct grid *g)
{
	const cJSON *line, *cell;
	size_t y = 0;

	cJSON_ArrayForEach (line, json_get(matrix, "cells")) {
		size_t x = 0;

		cJSON_ArrayForEach (cell, line) {
			if (x < g->n && y < g->n && cJSON_IsString(cell))
				g->v[y * g->n + x] = colour_of(cell->valuestring);
			x++;
		}
		y++;
	}
}

/* What a screen reader and a printer can use of the picture: the pairs that are not well. */
static void pairs(const cJSON *matrix, const struct grid *g, struct text *t)
{
	const cJSON *hosts = json_get(matrix, "hosts");
	size_t bad = count(g, 2) + count(g, 3), told = 0;

	if (!bad)
		return;
	text_addf(t, "<details open><summary>%zu pairs do not reach each other%s</summary><ul>\n",
		  bad, bad > PAIRS_MAX ? " (the first 200)" : "");
	for (size_t i = 0; i < g->n * g->n && told < PAIRS_MAX; i++) {
		const cJSON *from, *to;

		if (g->v[i] != 2 && g->v[i] != 3)
			continue;
		from = cJSON_GetArrayItem(hosts, (int)(i / g->n));
		to = cJSON_GetArrayItem(hosts, (int)(i % g->n));
		text_add(t, "<li>");
		html_text(t, cJSON_GetStringValue(from));
		text_add(t, " to ");
		html_text(t, cJSON_GetStringValue(to));
		text_addf(t, ": %s</li>\n", state_names[g->v[i]]);
		told++;
	}
	text_add(t, "</ul></details>\n");
}

static int host_index(const cJSON *hosts, const char *name, int near)
{
	const cJSON *h = cJSON_GetArrayItem(hosts, near);
	int i = 0;

	if (cJSON_IsString(h) && streq(h->valuestring, name))
		return near; /* rows come in order */
	cJSON_ArrayForEach (h, hosts) {
		if (cJSON_IsString(h) && streq(h->valuestring, name))
			return i;
		i++;
	}
	return -1;
}

/* The quickest answer of each pair, in ms; NAN: none. */
static double *latencies(const cJSON *reach, size_t n, struct arena *a)
{
	const cJSON *hosts = json_get(json_get(reach, "matrix"), "hosts"), *row;
	double *ms = arena_alloc(a, n * n * sizeof(*ms));
	int from = 0, to = 0;

	for (size_t i = 0; i < n * n; i++)
		ms[i] = NAN;
	cJSON_ArrayForEach (row, json_get(reach, "targets")) {
		double v = json_get_num(row, "ms", NAN);

		from = host_index(hosts, json_get_str(row, "from") ?: "", from < 0 ? 0 : from);
		to = host_index(hosts, json_get_str(row, "to") ?: "", to < 0 ? 0 : to);
		if (from >= 0 && to >= 0 && v > 0)
			ms[(size_t)from * n + (size_t)to] =
				fmin(v, fmin(ms[(size_t)from * n + (size_t)to], INFINITY));
	}
	return ms;
}

/* Squares of many hosts each, where there are many: the slowest pair of a square is its colour. */
static size_t coarsen(double *ms, size_t n)
{
	size_t step = (n + FINE_MAX - 1) / FINE_MAX, m = (n + step - 1) / step;

	for (size_t y = 0; y < m && step > 1; y++)
		for (size_t x = 0; x < m; x++) {
			double worst = NAN;

			for (size_t i = y * step; i < n && i < (y + 1) * step; i++)
				for (size_t k = x * step; k < n && k < (x + 1) * step; k++)
					worst = fmax(worst, ms[i * n + k]);
			ms[y * m + x] = worst; /* before all that is still to be read */
		}
	return m;
}

static void heat(const cJSON *reach, struct grid *g, struct arena *a, struct text *t)
{
	const char *names[COLOURS + 1] = {""};
	double *ms = latencies(reach, g->n, a), least = INFINITY, most = 0, step;
	size_t hosts = g->n;

	g->n = coarsen(ms, g->n);
	for (size_t i = 0; i < g->n * g->n; i++) {
		least = fmin(least, ms[i]);
		most = fmax(most, ms[i]);
	}
	if (!(most > 0))
		return;
	step = fmax(log(most / least), log(SPREAD)) / COLOURS;
	for (size_t i = 0; i < g->n * g->n; i++) {
		double at = ms[i] > 0 ? log(ms[i] / least) / step : NAN;

		g->v[i] = !(at >= 0) ? 0 : (unsigned char)(1 + (at < COLOURS ? at : COLOURS - 1));
	}
	g->classes = heat_classes;
	g->nclasses = ARRAY_LEN(heat_classes);
	for (int c = 0; c < COLOURS; c++)
		names[c + 1] = arena_printf(a, "up to %.3g ms", least * exp(step * (c + 1)));
	text_addf(t, "<h3>How long an answer takes%s</h3>\n",
		  g->n < hosts ? ", the slowest pair of each square" : "");
	draw(g, "Time to an answer", false, t);
	key(g, names, t);
}

static const char *in_order(const cJSON *hosts, struct arena *a)
{
	host_list l = {0};
	const cJSON *h;

	cJSON_ArrayForEach (h, hosts)
		if (cJSON_IsString(h))
			LIST_ADD(a, &l)->name = h->valuestring;
	return hostlist_fold(a, &l);
}

void html_heat_maps(const cJSON *doc, struct arena *a, struct text *t)
{
	const cJSON *reach = json_get(json_get(json_get(doc, "data"), "parts"), "reach");
	const cJSON *matrix = json_get(reach, "matrix");
	struct grid g = {.n = (size_t)cJSON_GetArraySize(json_get(matrix, "hosts")),
			 .classes = state_classes,
			 .nclasses = ARRAY_LEN(state_classes)};

	html_open(t, "reach", "Between hosts");
	if (g.n < 2 || g.n > MATRIX_MAX) {
		text_add(t, "<p>Nothing between hosts was tested in this run.</p></section>\n");
		return;
	}
	g.v = arena_alloc(a, g.n * g.n);
	states(matrix, &g);
	text_add(t, "<p class=\"dim\">Rows send, columns are asked, in this order: ");
	html_text(t, in_order(json_get(matrix, "hosts"), a));
	text_add(t, "</p>\n<h3>Who reaches whom</h3>\n");
	draw(&g, "Who reaches whom", true, t);
	key(&g, state_names, t);
	pairs(matrix, &g, t);
	heat(reach, &g, a, t);
	text_add(t, "</section>\n");
}
