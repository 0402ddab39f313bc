/* What the hosts are: each fact once, with those that have it. */
#include "probes/html/parts.h"

#include "lib/core/units.h"

#include <math.h>

/* NULL: that is for programs. */
static const char *worded(const cJSON *v, const char *key, struct arena *a)
{
	struct unit_buf b;

	if (cJSON_IsString(v))
		return v->valuestring;
	if (!cJSON_IsNumber(v))
		return NULL;
	if ((streq(key, "memory") || streq(key, "memory_usable") || streq(key, "shm")) &&
	    v->valuedouble >= 0 && v->valuedouble < 1e18)
		return arena_strdup(a, format_size(&b, (uint64_t)v->valuedouble));
	return arena_printf(a, "%.15g", v->valuedouble);
}

static const cJSON *facts(const struct html_node *n) { return json_get(n->data, "facts"); }

struct had {
	const char *value; /* NULL: it does not say */
	const char *host;
	size_t at, first; /* its place among the hosts; that of the first with this value */
};

static int by_value(const void *px, const void *py)
{
	const struct had *x = px, *y = py;
	int d = strcmp(x->value, y->value);

	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static int by_first(const void *px, const void *py)
{
	const struct had *x = px, *y = py;
	int d = (x->first > y->first) - (x->first < y->first);

	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static size_t collect(const html_nodes *nodes, const char *key, struct arena *a, struct had *v)
{
	size_t n = 0;

	for (size_t i = 0; i < nodes->n; i++) {
		const char *value = worded(json_get(facts(&nodes->v[i]), key), key, a);

		if (value)
			v[n++] = (struct had){value, nodes->v[i].host, i, i};
	}
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 1; i < n; i++)
		if (streq(v[i].value, v[i - 1].value))
			v[i].first = v[i - 1].first;
	qsort(v, n, sizeof(*v), by_first);
	return n;
}

/* Values and who has them: "bbr: node[0-2]". Of very many values the rest is counted. */
static void fact(const html_nodes *nodes, const char *key, struct arena *a, struct text *t)
{
	enum { VALUES_MAX = 64 };
	struct had *v = arena_alloc(a, (nodes->n + 1) * sizeof(*v));
	size_t n = collect(nodes, key, a, v), told = 0;

	text_add(t, "<tr><th scope=\"row\">");
	text_markup(t, key);
	text_add(t, "</th><td>");
	for (size_t i = 0, next; i < n; i = next) {
		host_list who = {0};

		if (told++ == VALUES_MAX) {
			text_addf(t, "others on %zu hosts", n - i);
			break;
		}
		for (next = i; next < n && v[next].first == v[i].first; next++)
			LIST_ADD(a, &who)->name = v[next].host;
		text_markup(t, v[i].value);
		if (who.n < nodes->n) {
			text_add(t, " <span class=\"dim\">");
			text_markup(t, hostlist_fold(a, &who));
			text_add(t, "</span>");
		}
		text_add(t, "<br>");
	}
	text_add(t, "</td></tr>\n");
}

static void stages(const cJSON *doc, struct text *t)
{
	const cJSON *s, *all = json_get(json_get(doc, "data"), "stages");

	if (!cJSON_GetArraySize(all))
		return;
	text_add(t, "<h3>Stages</h3>");
	html_table(t, "Stages", false);
	text_add(t, "<thead><tr><th scope=\"col\">Stage</th>"
		    "<th scope=\"col\">Command</th><th scope=\"col\">Result</th>"
		    "<th scope=\"col\">Seconds</th></tr></thead><tbody>\n");
	cJSON_ArrayForEach (s, all) {
		double took = json_get_num(s, "seconds", NAN);

		text_add(t, "<tr><th scope=\"row\">");
		text_markup(t, json_get_str(s, "name"));
		text_add(t, "</th><td>");
		text_markup(t, json_get_str(s, "command"));
		text_add(t, "</td><td>");
		html_badge(t, json_text(s, "status"));
		text_add(t, "</td><td class=\"n\">");
		if (isfinite(took))
			text_addf(t, "%.3f", took);
		text_add(t, "</td></tr>\n");
	}
	html_table_end(t);
}

/* Of ranks: who carried their data, and what was expected of it. */
static void carriage(const cJSON *doc, struct text *t)
{
	const cJSON *data = json_get(doc, "data"), *world = json_get(data, "world");
	const struct {
		const char *what, *is;
	} all[] = {
		{"Data was carried by", json_get_str(data, "backend")},
		{"over", json_get_str(data, "transport")},
		{"Ranks were started by", json_get_str(world, "launcher")},
		{"What it can be held against", json_get_str(json_get(data, "expected"), "why")}};

	for (size_t i = 0; world && i < ARRAY_LEN(all); i++)
		if (all[i].is) {
			text_addf(t, "<p>%s: ", all[i].what);
			text_markup(t, all[i].is);
			text_add(t, "</p>\n");
		}
}

void html_environment(const cJSON *doc, const html_nodes *nodes, struct arena *a, struct text *t)
{
	str_list keys = {0};
	const cJSON *v;

	for (size_t i = 0; i < nodes->n; i++)
		cJSON_ArrayForEach (v, facts(&nodes->v[i])) {
			bool again = streq(v->string, "clock") || !worded(v, v->string, a);

			for (size_t k = 0; k < keys.n; k++)
				again |= streq(keys.v[k], v->string);
			if (!again)
				*LIST_ADD(a, &keys) = v->string;
		}
	html_open(t, "environment", "Environment");
	if (keys.n) {
		html_table(t, "What the hosts are", false);
		text_add(t, "<tbody>\n");
	}
	for (size_t i = 0; i < keys.n; i++)
		fact(nodes, keys.v[i], a, t);
	if (keys.n)
		html_table_end(t);
	carriage(doc, t);
	stages(doc, t);
	text_add(t, "</section>\n");
}
