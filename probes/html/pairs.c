/* What data reaches between each pair: bandwidth, latency, and what was lost. */
#include "lib/report/envelope.h"
#include "probes/html/parts.h"

#include <math.h>

enum { LIST_MAX = 200, UNITS_MAX = 1024 };

struct pair {
	size_t from, to;
	double gbps, latency_us, lost;
};
struct pairs {
	str_list names; /* in the order in which they first appear; the script does the same */
	LIST(struct pair) v;
};

/* Of what measured them. */
static const cJSON *find(const cJSON *doc)
{
	const cJSON *own = envelope_part(doc, "pairs", "ncclbench");

	return json_get(own, "pairs") ? own : envelope_part(doc, "collectives", "ncclbench");
}

/* Rows come in order: @near is it, or the next one. */
static size_t index_of(str_list *names, const char *name, size_t near, struct arena *a)
{
	for (size_t i = 0; i < names->n; i++)
		if (streq(names->v[(near + i) % names->n], name))
			return (near + i) % names->n;
	*LIST_ADD(a, names) = name;
	return names->n - 1;
}

static void collect(const cJSON *list, struct pairs *ret, struct arena *a)
{
	size_t from = 0, to = 0;
	const cJSON *row;

	cJSON_ArrayForEach (row, list) {
		const char *x = json_get_str(row, "from"), *y = json_get_str(row, "to");

		if (!x || !y || ret->names.n >= UNITS_MAX)
			continue;
		from = index_of(&ret->names, x, from, a);
		to = index_of(&ret->names, y, to, a);
		*LIST_ADD(a, &ret->v) = (struct pair){from, to, json_get_num(row, "gbps", NAN),
						      json_get_num(row, "latency_us", NAN),
						      json_get_num(row, "lost", NAN)};
	}
}

enum what { GBPS, LATENCY, LOST };
static double value(const struct pair *p, enum what w)
{
	return w == GBPS ? p->gbps : w == LATENCY ? p->latency_us : p->lost;
}

static double *square(const struct pairs *p, enum what w, struct arena *a)
{
	size_t n = p->names.n;
	double *v = arena_alloc(a, n * n * sizeof(*v));

	for (size_t i = 0; i < n * n; i++)
		v[i] = NAN;
	for (size_t i = 0; i < p->v.n; i++)
		if (p->v.v[i].from != p->v.v[i].to)
			v[p->v.v[i].from * n + p->v.v[i].to] = value(&p->v.v[i], w);
	return v;
}

/* @words: the script finds the words for its squares. */
static void map(const struct pairs *p, enum what w, const char *title, const char *unit, bool words,
		struct arena *a, struct text *t)
{
	const char *names[HTML_HEAT];
	const struct html_scale scale = {unit, .more_is_better = w == GBPS};
	double *v = square(p, w, a);
	struct html_grid g = {.n = html_grid_coarsen(v, p->names.n, w == GBPS)};

	g.hosts = g.n == p->names.n ? p->names.v : NULL;
	g.v = arena_alloc(a, g.n * g.n);
	if (w == LOST)
		html_grid_shares(&g, v, names);
	else if (!html_grid_heat(&g, v, &scale, a, names))
		return;
	text_addf(t, "<h3>%s%s</h3>\n", title,
		  g.n < p->names.n ? ", the worst pair of each square" : "");
	html_grid_draw(&g, title, words && g.n == p->names.n ? "pairs" : NULL, t);
	html_grid_key(&g, names, t);
}

/* What is not known stands last. */
static int by_gbps(const void *px, const void *py)
{
	const struct pair *x = px, *y = py;
	double a = isnan(x->gbps) ? INFINITY : x->gbps, b = isnan(y->gbps) ? INFINITY : y->gbps;

	if (a < b || a > b)
		return a < b ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from) ?: (x->to > y->to) - (x->to < y->to);
}

static void number(double v, const char *format, struct text *t)
{
	text_add(t, "<td class=\"n\">");
	if (isfinite(v) && *format == '3')
		text_addf(t, "%.3f", v);
	else if (isfinite(v))
		text_addf(t, "%.1f", v);
	text_add(t, "</td>");
}

static void table(const struct pairs *p, struct arena *a, struct text *t)
{
	size_t n = p->v.n < LIST_MAX ? p->v.n : LIST_MAX;
	struct pair *sorted = arena_alloc(a, p->v.n * sizeof(*sorted));

	memcpy(sorted, p->v.v, p->v.n * sizeof(*sorted));
	qsort(sorted, p->v.n, sizeof(*sorted), by_gbps);
	text_addf(t,
		  "<details%s><summary>The numbers, the slowest first%s</summary>"
		  "<div class=\"scroll tall\" tabindex=\"0\"><table class=\"narrow\"><thead><tr>"
		  "<th scope=\"col\">From</th><th scope=\"col\">To</th>"
		  "<th scope=\"col\" class=\"n\">GB/s</th><th scope=\"col\" class=\"n\">us</th>"
		  "<th scope=\"col\" class=\"n\">sent again (%%)</th></tr></thead><tbody>\n",
		  n <= 32 ? " open" : "", n < p->v.n ? " (200 of them)" : "");
	for (size_t i = 0; i < n; i++) {
		text_add(t, "<tr><th scope=\"row\">");
		text_markup(t, p->names.v[sorted[i].from]);
		text_add(t, "</th><td>");
		text_markup(t, p->names.v[sorted[i].to]);
		text_add(t, "</td>");
		number(sorted[i].gbps, "3", t);
		number(sorted[i].latency_us, "1", t);
		number(sorted[i].lost * 100, "3", t);
		text_add(t, "</tr>\n");
	}
	text_add(t, "</tbody></table></div></details>\n");
}

static bool any_lost(const struct pairs *p)
{
	for (size_t i = 0; i < p->v.n; i++)
		if (p->v.v[i].lost > 0)
			return true;
	return false;
}

static bool is_measured(const struct pairs *p)
{
	for (size_t i = 0; i < p->v.n; i++)
		if (isfinite(p->v.v[i].gbps))
			return true;
	return false;
}

static const char *in_order(const struct pairs *p, struct arena *a)
{
	host_list l = {0};

	for (size_t i = 0; i < p->names.n; i++)
		LIST_ADD(a, &l)->name = p->names.v[i];
	return hostlist_fold(a, &l);
}

/* Where hosts have several network cards in parallel: each by itself. */
static void rail(const cJSON *o, struct arena *a, struct text *t)
{
	const char *name = json_get_str(o, "name");
	struct pairs p = {0};
	struct text title;

	collect(json_get(o, "pairs"), &p, a);
	if (!name || p.names.n < 2 || !is_measured(&p))
		return;
	text_init(&title, a);
	text_add(&title, "Bandwidth over ");
	text_markup(&title, name);
	map(&p, GBPS, title.s, "GB/s", false, a, t);
	if (any_lost(&p))
		map(&p, LOST, "Packets that had to be sent again there", "", false, a, t);
	table(&p, a, t);
}

bool html_pairs(const cJSON *doc, struct arena *a, struct text *t)
{
	const cJSON *part = find(doc), *rails = json_get(part, "rails"), *o;
	struct pairs p = {0};

	collect(json_get(part, "pairs"), &p, a);
	if (p.names.n < 2)
		return false;
	text_add(t, "<p class=\"dim\">Rows send, columns receive, in this order: ");
	text_markup(t, in_order(&p, a));
	text_add(t, cJSON_GetArraySize(rails) > 1
			    ? "; of several network cards the worst, and each by itself below</p>\n"
			    : "</p>\n");
	map(&p, GBPS, "Bandwidth between pairs", "GB/s", true, a, t);
	map(&p, LATENCY, "Latency between pairs", "us", true, a, t);
	if (any_lost(&p))
		map(&p, LOST, "Packets that had to be sent again", "", true, a, t);
	table(&p, a, t);
	if (cJSON_GetArraySize(rails) > 1)
		cJSON_ArrayForEach (o, rails)
			rail(o, a, t);
	return true;
}
