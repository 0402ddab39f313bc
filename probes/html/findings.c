/* What to do, and every check. */
#include "lib/core/units.h"
#include "probes/html/parts.h"
#include "probes/tally/names.h"

#include <math.h>

static bool is_wrong(const cJSON *f)
{
	const char *st = json_text(f, "status");

	return streq(st, "fail") || streq(st, "error") || streq(st, "warn");
}

static host_list hosts_of(const cJSON *names, struct arena *a)
{
	host_list l = {0};
	const cJSON *n;

	cJSON_ArrayForEach (n, names)
		if (cJSON_IsString(n))
			LIST_ADD(a, &l)->name = n->valuestring;
	return l;
}

static void cause(const cJSON *f, const char *said, host_list hosts, bool own_fix, struct arena *a,
		  struct text *t)
{
	const char *all = hosts.n ? names_fold(a, &hosts) : "";

	text_add(t, "<li>");
	html_badge(t, json_text(f, "status"));
	text_add(t, " <code>");
	text_markup(t, json_text(f, "check"));
	text_add(t, "</code> ");
	if (*all) {
		text_add(t, "<b>");
		text_markup(t, names_brief(a, &hosts));
		text_add(t, "</b> ");
	}
	if (*json_text(f, "subject") && !streq(json_text(f, "subject"), all) &&
	    !starts_with(said, json_text(f, "subject"))) {
		text_markup(t, json_text(f, "subject"));
		text_add(t, " ");
	}
	text_markup(t, said);
	if (*json_text(f, "expected")) {
		text_add(t, " <span class=\"dim\">(expected ");
		text_markup(t, json_text(f, "expected"));
		text_add(t, ")</span>");
	}
	html_fixes(t, f, own_fix ? json_text(f, "host") : NULL);
	text_add(t, "</li>\n");
}

static void lists(const cJSON *data, struct arena *a, struct text *t)
{
	const char *exclude = json_get_str(data, "exclude"), *line = json_get_str(data, "without");
	host_list passing = hosts_of(json_get(data, "passing_nodes"), a);

	if (!exclude)
		return;
	text_add(t, "<p>Failing: <b>");
	text_markup(t, exclude);
	text_add(t, "</b>");
	if (passing.n) {
		text_add(t, ". Passing: ");
		text_markup(t, names_brief(a, &passing));
	}
	text_add(t, "</p>\n");
	if (!line)
		return;
	text_add(t, "<p>Without them:</p><div class=\"fix\"><pre>");
	text_markup(t, line);
	text_add(t, "</pre><button class=\"js\" data-copy aria-label=\"Copy this "
		    "command\">Copy</button></div>\n");
}

enum { NOT_WRONG = 3 };

static int weight(const struct html_row *r)
{
	const char *st = json_text(r->f, "status");

	return streq(st, "fail") ? 0 : streq(st, "error") ? 1 : streq(st, "warn") ? 2 : NOT_WRONG;
}

/* As a run that ranks its causes itself does: what failed, and of that what most hosts have. */
static int by_rank(const void *px, const void *py)
{
	const struct html_row *x = px, *y = py;
	int d = weight(x) - weight(y);

	d = d ? d : (x->hosts.n < y->hosts.n) - (x->hosts.n > y->hosts.n);
	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static html_rows wrong_rows(const html_rows *rows, struct arena *a)
{
	html_rows l = {0};

	for (size_t i = 0; i < rows->n; i++)
		if (is_wrong(rows->v[i].f))
			*LIST_ADD(a, &l) = rows->v[i];
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_rank);
	return l;
}

void html_causes(const cJSON *doc, const html_rows *rows, struct arena *a, struct text *t)
{
	const cJSON *ranked = json_get(json_get(doc, "data"), "causes"), *c;
	html_rows wrong = wrong_rows(rows, a);
	size_t n = 0;

	html_open(t, "causes", "What to do, the first cause first");
	text_add(t, "<ol class=\"causes\">\n");
	cJSON_ArrayForEach (c, ranked) {
		cause(c, json_text(c, "message"), hosts_of(json_get(c, "hosts"), a), false, a, t);
		n++;
	}
	for (size_t i = 0; !cJSON_IsArray(ranked) && i < wrong.n; i++) {
		const struct html_row *r = &wrong.v[i];

		cause(r->f, r->said, r->hosts, r->own_fix, a, t);
		n++;
	}
	text_add(t, "</ol>\n");
	if (!n)
		text_add(t, "<p>Nothing: no check failed, broke or warned.</p>\n");
	lists(json_get(doc, "data"), a, t);
	text_add(t, "</section>\n");
}

/* @range: each host has its own. */
static void value(const cJSON *f, bool range, struct text *t)
{
	double v = range ? (double)NAN : json_get_num(f, "value", NAN);
	struct unit_buf b;

	text_add(t, "<td class=\"n nb\">");
	if (v >= 0 && v < 1e18 && streq(json_text(f, "unit"), "B")) {
		text_add(t, format_size(&b, (uint64_t)v));
	} else if (isfinite(v)) {
		text_addf(t, "%s ", format_number(&b, v));
		text_markup(t, json_text(f, "unit"));
	}
	text_add(t, "</td><td>");
	text_markup(t, json_text(f, "expected"));
	text_add(t, "</td>");
}

static void row(const struct html_row *r, struct arena *a, struct text *t)
{
	enum { SHORT = 24 };
	const char *hosts = hostlist_fold(a, &r->hosts);

	text_add(t, "<tr data-status=\"");
	text_markup(t, json_text(r->f, "status"));
	text_add(t, "\"><td>");
	html_badge(t, json_text(r->f, "status"));
	text_add(t, "</td><td><code>");
	text_markup(t, json_text(r->f, "check"));
	text_addf(t, "</code></td><td class=\"%s\">", strlen(hosts) < SHORT ? "nb" : "hosts");
	text_markup(t, hosts);
	text_add(t, "</td><td>");
	text_markup(t, json_text(r->f, "subject"));
	text_add(t, "</td><td>");
	text_markup(t, r->said);
	if (!is_wrong(r->f)) /* what is wrong has its own among what is to be done */
		html_fixes(t, r->f, r->own_fix ? json_text(r->f, "host") : NULL);
	text_add(t, "</td>");
	value(r->f, r->range, t);
	text_add(t, "</tr>\n");
}

static size_t count(const html_rows *rows, const char *status)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		n += streq(json_text(rows->v[i].f, "status"), status);
	return n;
}

void html_findings(const html_rows *rows, struct arena *a, struct text *t)
{
	static const char *const all[] = {"fail", "error", "warn", "pass", "info", "skip"};

	html_open(t, "findings", "Every check");
	text_add(t,
		 "<div class=\"filter\"><label class=\"js\">Filter (key /) <input type=\"search\" "
		 "autocomplete=\"off\"></label> ");
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		size_t n = count(rows, all[i]);

		if (n)
			text_addf(t,
				  "<button class=\"js\" data-status=\"%s\" "
				  "aria-pressed=\"false\">%s (%zu)</button> ",
				  all[i], all[i], n);
	}
	text_add(t, "<output aria-live=\"polite\"></output></div>\n");
	html_table(t, "Every check", false);
	text_add(t, "<thead><tr><th scope=\"col\">Status</th><th scope=\"col\">Check</th>"
		    "<th scope=\"col\">Hosts</th><th scope=\"col\">Subject</th>"
		    "<th scope=\"col\">What was found</th><th scope=\"col\">Value</th>"
		    "<th scope=\"col\">Expected</th></tr></thead><tbody>\n");
	for (int w = 0; w <= NOT_WRONG; w++) /* the worst stands first */
		for (size_t i = 0; i < rows->n; i++)
			if (weight(&rows->v[i]) == w)
				row(&rows->v[i], a, t);
	html_table_end(t);
	text_add(t, "</section>\n");
}
