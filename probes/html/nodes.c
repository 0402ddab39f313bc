/* The hosts: a picture of who hangs on which network, and a row for each. */
#include "probes/html/parts.h"
#include "probes/tally/subject.h"

#include <math.h>

enum { CARDS_MAX = 48, PER_ROW = 5, CARD_W = 182, CARD_H = 64, GAP = 14, DOT = 16, DOTS_ROW = 48 };

static const cJSON *interface_part(const struct html_node *n)
{
	return json_get(json_get(n->data, "parts"), "interface");
}

static const char *network_of(const struct html_node *n, struct arena *a)
{
	const cJSON *c, *s = json_get(interface_part(n), "suggest");

	cJSON_ArrayForEach (c, json_get(s, "candidates"))
		if (streq(json_text(c, "interface"), json_text(s, "interface")) &&
		    *json_text(c, "network"))
			return arena_printf(a, "%s/%.0f", json_text(c, "network"),
					    json_get_num(c, "prefix", 0));
	return n->ranks ? "the ranks of this run" : n->data ? "no network" : "no answer";
}

static double speed_of(const struct html_node *n)
{
	const cJSON *i, *part = interface_part(n);

	cJSON_ArrayForEach (i, json_get(part, "interfaces"))
		if (streq(json_text(i, "name"), json_text(json_get(part, "suggest"), "interface")))
			return json_get_num(i, "speed_mbps", NAN);
	return NAN;
}

/* @shown: its name, as far as there is room for it. */
static void card(const struct html_node *n, const char *shown, int x, int y, struct text *t)
{
	const cJSON *s = json_get(interface_part(n), "suggest");
	double gpus = json_get_num(json_get(n->data, "facts"), "gpus", NAN), speed = speed_of(n);

	text_addf(t, "<g class=\"%s\"><title>", n->status);
	text_markup(t, n->host);
	text_addf(t, "</title><path class=\"wire\" d=\"M%d %dv-%d\"/>", x + CARD_W / 2, y, GAP);
	text_addf(t,
		  "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>"
		  "<text x=\"%d\" y=\"%d\" font-weight=\"600\">",
		  x, y, CARD_W, CARD_H, x + 10, y + 18);
	text_markup(t, shown);
	text_addf(t, " (%s)</text><text class=\"dim\" x=\"%d\" y=\"%d\">", n->status, x + 10,
		  y + 36);
	text_markup(t, *json_text(s, "interface") ? json_text(s, "interface")
		       : n->address		  ? ""
		       : n->data		  ? "no interface"
						  : "no answer");
	text_add(t, " ");
	text_markup(t, json_get_str(s, "address") ?: n->address);
	text_addf(t, "</text><text class=\"dim\" x=\"%d\" y=\"%d\">", x + 10, y + 53);
	if (speed >= 0)
		text_addf(t, "%.4g Gb/s ", speed / 1000);
	if (gpus >= 0)
		text_addf(t, "%.0f GPU%s ", gpus, gpus == 1 ? "" : "s");
	if (n->ranks)
		text_addf(t, "%d rank%s", n->ranks, n->ranks == 1 ? "" : "s");
	text_add(t, "</text></g>\n");
}

/* Of one network: hosts that hang there are mostly named alike. */
static const char *const *short_names(const html_nodes *nodes, struct arena *a)
{
	const char **whole = arena_alloc(a, (nodes->n + 1) * sizeof(*whole));

	for (size_t i = 0; i < nodes->n; i++)
		whole[i] = nodes->v[i].host;
	return html_short_names(whole, nodes->n, a);
}

static void cards(const html_nodes *of, int *y, struct arena *a, struct text *t)
{
	const char *const *shown = short_names(of, a);

	for (size_t i = 0; i < of->n; i++) {
		if (i && i % PER_ROW == 0)
			*y += CARD_H + 2 * GAP;
		card(&of->v[i], shown[i], GAP + (int)(i % PER_ROW) * (CARD_W + GAP), *y + GAP, t);
	}
	*y += CARD_H + 2 * GAP;
}

/* Many hosts: a square each, its name when the pointer rests on it. */
static void dots(const html_nodes *of, int *y, struct text *t)
{
	for (size_t i = 0; i < of->n; i++) {
		if (i && i % DOTS_ROW == 0)
			*y += DOT + 4;
		text_addf(t,
			  "<rect class=\"box %s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">"
			  "<title>",
			  of->v[i].status, GAP + (int)(i % DOTS_ROW) * (DOT + 4), *y + 8, DOT, DOT);
		text_markup(t, of->v[i].host);
		text_add(t, "</title></rect>\n");
	}
	*y += 2 * DOT + 8;
}

static void network(const html_nodes *nodes, const char *name, int *y, struct arena *a,
		    struct text *t)
{
	html_nodes of = {0};

	for (size_t i = 0; i < nodes->n; i++)
		if (streq(network_of(&nodes->v[i], a), name))
			*LIST_ADD(a, &of) = nodes->v[i];
	text_addf(t, "<text x=\"%d\" y=\"%d\">", GAP, *y + 16);
	text_markup(t, name);
	text_addf(t, ": %zu host%s</text><path class=\"wire\" stroke-width=\"3\" d=\"M%d %dh%d\"/>",
		  of.n, of.n == 1 ? "" : "s", GAP, *y + 24, PER_ROW * (CARD_W + GAP) - GAP);
	*y += 24;
	if (nodes->n <= CARDS_MAX)
		cards(&of, y, a, t);
	else
		dots(&of, y, t);
}

void html_topology(const html_nodes *nodes, struct arena *a, struct text *t)
{
	str_list done = {0};
	struct text svg;
	int y = 0;

	text_init(&svg, a);
	for (size_t i = 0; i < nodes->n; i++) {
		const char *name = network_of(&nodes->v[i], a);
		bool again = false;

		for (size_t k = 0; k < done.n; k++)
			again |= streq(done.v[k], name);
		if (again)
			continue;
		*LIST_ADD(a, &done) = name;
		network(nodes, name, &y, a, &svg);
	}
	html_open(t, "topology", "Topology");
	text_addf(t,
		  "<svg role=\"img\" aria-label=\"%zu hosts on %zu networks; the table below says "
		  "the same\" viewBox=\"0 0 %d %d\" width=\"%d\">\n",
		  nodes->n, done.n, PER_ROW * (CARD_W + GAP) + GAP, y + GAP,
		  PER_ROW * (CARD_W + GAP) + GAP);
	text_addn(t, svg.s, svg.n);
	text_add(t, "</svg></section>\n");
}

static void cell(const char *status, struct text *t)
{
	text_add(t, "<td>");
	if (status)
		html_badge(t, status);
	else
		text_add(t, "-");
	text_add(t, "</td>");
}

/* What is said of a host, but for its address. */
struct node_row {
	const struct html_node *n; /* the first of them */
	const char *key;
	host_list hosts;
};
typedef LIST(struct node_row) node_rows;

static bool is_about(const cJSON *cause, const char *host, struct arena *a)
{
	const cJSON *name;
	host_list named;

	cJSON_ArrayForEach (name, json_get(cause, "hosts"))
		if (streq(cJSON_GetStringValue(name) ?: "", host))
			return true;
	subject_names(a, json_text(cause, "subject"), &named);
	for (size_t i = 0; i < named.n; i++)
		if (streq(named.v[i].name, host))
			return true;
	return false;
}

/* Why it is failed, where none of its own stages is: the cause lies between hosts. NULL: one of
 * them is, or nobody says. */
static const cJSON *cause_between(const cJSON *causes, const struct html_node *n, struct arena *a)
{
	const cJSON *x;

	if (!streq(n->status, "fail"))
		return NULL;
	cJSON_ArrayForEach (x, json_get(n->data, "stages"))
		if (streq(json_text(x, "status"), "fail"))
			return NULL;
	cJSON_ArrayForEach (x, causes)
		if (streq(json_text(x, "status"), "fail") && is_about(x, n->host, a))
			return x;
	return NULL;
}

static void verdict_cell(const struct node_row *r, const cJSON *causes, struct arena *a,
			 struct text *t)
{
	const cJSON *why = r->hosts.n == 1 ? cause_between(causes, r->n, a) : NULL;

	text_add(t, "<td>");
	html_badge(t, r->n->status);
	if (why) {
		text_add(t, " <span class=\"dim\">");
		text_markup(t, json_text(why, "stage"));
		text_add(t, ": ");
		text_markup(t, json_text(why, "message"));
		text_add(t, "</span>");
	}
	text_add(t, "</td>");
}

static void put_row(const struct node_row *r, const cJSON *causes, const str_list *stages,
		    struct arena *a, struct text *t)
{
	const cJSON *s = json_get(interface_part(r->n), "suggest");

	text_addf(t, "<tr data-status=\"%s\"><th scope=\"row\"%s>", r->n->status,
		  r->hosts.n > 1 ? " class=\"hosts\"" : "");
	text_markup(t, hostlist_fold(a, &r->hosts));
	text_add(t, "</th>");
	verdict_cell(r, causes, a, t);
	for (size_t i = 0; i < stages->n; i++)
		cell(html_stage_status(r->n->data, stages->v[i]), t);
	text_add(t, "<td>");
	text_markup(t, json_text(s, "interface"));
	text_add(t, "</td><td>");
	if (r->hosts.n == 1)
		text_markup(t, json_get_str(s, "address") ?: r->n->address);
	else
		text_addf(t, "%zu hosts", r->hosts.n);
	text_add(t, "</td></tr>\n");
}

static const char *row_key(const struct html_node *n, const str_list *stages, struct arena *a)
{
	const char *key =
		arena_printf(a, "%s %s", n->status,
			     json_text(json_get(interface_part(n), "suggest"), "interface"));

	for (size_t i = 0; i < stages->n; i++)
		key = arena_printf(a, "%s %s", key,
				   html_stage_status(n->data, stages->v[i]) ?: "-");
	return key;
}

/* A row for each; of more than a person scrolls through, one for all that came to the same. */
static void gather_rows(const html_nodes *nodes, const str_list *stages, struct arena *a,
			node_rows *ret)
{
	enum { ROWS_MAX = 1024 };

	for (size_t i = 0; i < nodes->n; i++) {
		bool many = nodes->n > ROWS_MAX;
		const char *key = many ? row_key(&nodes->v[i], stages, a) : NULL;
		size_t k = many ? 0 : ret->n;

		while (k < ret->n && !streq(ret->v[k].key, key))
			k++;
		if (k == ret->n)
			*LIST_ADD(a, ret) = (struct node_row){.n = &nodes->v[i], .key = key};
		LIST_ADD(a, &ret->v[k].hosts)->name = nodes->v[i].host;
	}
}

/* Those of the host that came farthest. */
static void list_stages(const html_nodes *nodes, struct arena *a, str_list *ret)
{
	const cJSON *most = NULL, *s;

	for (size_t i = 0; i < nodes->n; i++) {
		const cJSON *all = json_get(nodes->v[i].data, "stages");

		if (cJSON_GetArraySize(all) > cJSON_GetArraySize(most))
			most = all;
	}
	cJSON_ArrayForEach (s, most)
		*LIST_ADD(a, ret) = json_text(s, "name");
}

void html_node_table(const cJSON *doc, const html_nodes *nodes, struct arena *a, struct text *t)
{
	static const char *const order[] = {"fail", "error", "warn", "pass"};
	const cJSON *causes = json_get(json_get(doc, "data"), "causes");
	str_list stages = {0};
	node_rows rows = {0};

	list_stages(nodes, a, &stages);
	html_open(t, "nodes", "Hosts");
	text_add(t,
		 "<div class=\"filter\"><label class=\"js\">Filter <input type=\"search\"></label>"
		 "<button class=\"js\" data-status=\"fail\" aria-pressed=\"false\">fail</button>"
		 "<button class=\"js\" data-status=\"warn\" aria-pressed=\"false\">warn</button>"
		 "<output aria-live=\"polite\"></output></div>");
	html_table(t, "Hosts", true);
	text_add(t, "<thead><tr><th scope=\"col\">Host</th><th scope=\"col\">All</th>");
	for (size_t i = 0; i < stages.n; i++) {
		text_add(t, "<th scope=\"col\">");
		text_markup(t, stages.v[i]);
		text_add(t, "</th>");
	}
	text_add(t, "<th scope=\"col\">Interface</th><th scope=\"col\">Address</th></tr></thead>"
		    "<tbody>\n");
	gather_rows(nodes, &stages, a, &rows);
	for (size_t k = 0; k < ARRAY_LEN(order); k++)
		for (size_t i = 0; i < rows.n; i++)
			if (streq(rows.v[i].n->status, order[k]))
				put_row(&rows.v[i], causes, &stages, a, t);
	html_table_end(t);
	text_add(t, "</section>\n");
}
