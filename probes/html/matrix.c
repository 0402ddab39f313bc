/* Who reaches whom, and how quickly. */
#include "probes/html/parts.h"

#include <math.h>

enum { SENDERS_MAX = 200, MATRIX_MAX = 1024 };

static const char *const state_classes[] = {"", "m-ok", "m-part", "m-bad", "m-none"};
static const char *const state_names[] = {"", HTML_REACHED, HTML_IN_PART, HTML_UNREACHED,
					  HTML_UNTESTED};

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

static void states(const cJSON *matrix, struct html_grid *g)
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

/* Does nothing answer on any way from (to) this host? */
static bool is_cut_off(const struct html_grid *g, size_t host, bool from)
{
	enum { NONE_ANSWERS = 3 };

	for (size_t i = 0; i < g->n; i++)
		if (i != host && g->v[from ? host * g->n + i : i * g->n + host] != NONE_ANSWERS)
			return false;
	return true;
}

/* Of one sender, those that do not answer alike: "node0 to node[2,5]: none answers" */
static void pairs_from(const char *const *names, const struct html_grid *g, size_t from,
		       const bool *cut, unsigned char state, struct arena *a, struct text *t)
{
	host_list to = {0};

	for (size_t i = 0; i < g->n; i++)
		if (g->v[from * g->n + i] == state && !cut[i])
			LIST_ADD(a, &to)->name = names[i];
	if (!to.n)
		return;
	text_add(t, "<li>");
	text_markup(t, names[from]);
	text_add(t, " to ");
	text_markup(t, hostlist_fold(a, &to));
	text_addf(t, ": %s</li>\n", state_names[state]);
}

static void tell_cut(const char *name, bool from, struct text *t)
{
	text_add(t, from ? "<li>" : "<li>No other host reaches ");
	text_markup(t, name);
	text_add(t, from ? " reaches no other host</li>\n" : "</li>\n");
}

/* What a screen reader and a printer can use of the picture: the pairs that are not well. */
static void pairs(const cJSON *matrix, const struct html_grid *g, struct arena *a, struct text *t)
{
	size_t bad = html_grid_count(g, 2) + html_grid_count(g, 3), i = 0, told = 0;
	const char **names = arena_alloc(a, g->n * sizeof(*names));
	bool *sends = arena_alloc(a, g->n), *hears = arena_alloc(a, g->n);
	const cJSON *host;

	if (!bad)
		return;
	cJSON_ArrayForEach (host, json_get(matrix, "hosts")) {
		names[i] = cJSON_GetStringValue(host) ?: "";
		sends[i] = is_cut_off(g, i, true);
		hears[i] = is_cut_off(g, i, false);
		i++;
	}
	text_addf(t, "<details open><summary>%zu pair%s not reach each other</summary><ul>\n", bad,
		  bad == 1 ? " does" : "s do");
	for (i = 0; i < g->n; i++) {
		if (sends[i])
			tell_cut(names[i], true, t);
		if (hears[i])
			tell_cut(names[i], false, t);
	}
	for (i = 0; i < g->n && told < SENDERS_MAX; i++) {
		size_t before = t->n;

		for (unsigned char c = 2; c <= 3 && !sends[i]; c++)
			pairs_from(names, g, i, hears, c, a, t);
		told += t->n > before;
	}
	text_addf(t, "</ul>%s</details>\n",
		  told == SENDERS_MAX ? "<p>There may be more: the data has them all.</p>" : "");
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

		from = host_index(hosts, json_text(row, "from"), from < 0 ? 0 : from);
		to = host_index(hosts, json_text(row, "to"), to < 0 ? 0 : to);
		if (from >= 0 && to >= 0 && v > 0)
			ms[(size_t)from * n + (size_t)to] =
				fmin(v, fmin(ms[(size_t)from * n + (size_t)to], INFINITY));
	}
	return ms;
}

static void heat(const cJSON *reach, struct html_grid *g, struct arena *a, struct text *t)
{
	/* beyond these one's own building is left: 100 km of glass and back are 1 ms */
	static const struct html_scale scale = {"ms", .harmless = 2};
	const char *names[HTML_HEAT];
	double *ms = latencies(reach, g->n, a);
	size_t hosts = g->n;

	g->n = html_grid_coarsen(ms, g->n, false);
	g->hosts = g->n == hosts ? g->hosts : NULL;
	if (!html_grid_heat(g, ms, &scale, a, names))
		return;
	text_addf(t, "<h3>How long an answer takes%s</h3>\n",
		  g->n < hosts ? ", the slowest pair of each square" : "");
	html_grid_draw(g, "Time to an answer", g->n == hosts ? "answers" : NULL, t);
	html_grid_key(g, names, t);
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

static const char *const *names_of(const cJSON *hosts, struct arena *a)
{
	str_list l = {0};
	const cJSON *h;

	cJSON_ArrayForEach (h, hosts)
		*LIST_ADD(a, &l) = cJSON_GetStringValue(h) ?: "";
	return l.v;
}

static bool reach_maps(const cJSON *doc, struct arena *a, struct text *t)
{
	const cJSON *reach = json_get(json_get(json_get(doc, "data"), "parts"), "reach");
	const cJSON *matrix = json_get(reach, "matrix");
	struct html_grid g = {.n = (size_t)cJSON_GetArraySize(json_get(matrix, "hosts")),
			      .classes = state_classes,
			      .nclasses = ARRAY_LEN(state_classes)};

	if (g.n < 2 || g.n > MATRIX_MAX)
		return false;
	g.v = arena_alloc(a, g.n * g.n);
	g.hosts = names_of(json_get(matrix, "hosts"), a);
	states(matrix, &g);
	text_add(t, "<p class=\"dim\">Rows send, columns are asked, in this order: ");
	text_markup(t, in_order(json_get(matrix, "hosts"), a));
	text_add(t, "</p>\n<h3>Who reaches whom</h3>\n");
	html_grid_draw(&g, "Who reaches whom", "reach", t);
	html_grid_key(&g, state_names, t);
	pairs(matrix, &g, a, t);
	heat(reach, &g, a, t);
	return true;
}

void html_heat_maps(const cJSON *doc, struct arena *a, struct text *t)
{
	bool any;

	html_open(t, "reach", "Between hosts");
	any = reach_maps(doc, a, t);
	any |= html_pairs(doc, a, t);
	if (!any)
		text_add(t, "<p>Nothing between hosts was tested in this run.</p>\n");
	text_add(t, "</section>\n");
}
