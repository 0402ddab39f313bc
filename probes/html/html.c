#include "probes/html/html.h"

#include "lib/core/fix.h"
#include "lib/report/typed.h"
#include "probes/html/parts.h"
#include "probes/tally/tally.h"

#include <math.h>

void html_open(struct text *t, const char *id, const char *title)
{
	text_addf(t, "<section id=\"%s\" aria-labelledby=\"h-%s\"><h2 id=\"h-%s\">%s</h2>\n", id,
		  id, id, title);
}

void html_table(struct text *t, const char *label, bool tall)
{
	text_addf(t,
		  "<div class=\"scroll%s\" role=\"region\" aria-label=\"%s\" "
		  "tabindex=\"0\"><table>",
		  tall ? " tall" : "", label);
}

void html_table_end(struct text *t) { text_add(t, "</tbody></table></div>"); }

/* A document may say anything: what is no status of ours looks as nothing did. */
static const char *class_of(const char *status)
{
	static const char *const all[] = {"pass", "warn", "fail", "error", "info"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (streq(status, all[i]))
			return all[i];
	return "skip-st";
}

void html_badge(struct text *t, const char *status)
{
	text_addf(t, "<span class=\"badge %s\">", class_of(status));
	text_markup(t, status);
	text_add(t, "</span>");
}

void html_fixes(struct text *t, const cJSON *f, const char *one)
{
	str_list fixes = {0};

	fix_from_json(f, t->a, &fixes);
	for (size_t i = 0; i < fixes.n; i++) {
		const char *fix = one ? tally_of_one(t->a, fixes.v[i], one, NULL) : fixes.v[i];
		bool typed = fix_is_typed(fixes.v[i]);
		bool whole = fix_is_pasted(fixes.v[i]); /* else it gets no button */

		text_add(t, typed ? "<div class=\"fix\"><pre>" : "<p>");
		text_markup(t, fix_text(fix));
		text_add(t, whole   ? "</pre><button class=\"js\" data-copy "
				      "aria-label=\"Copy this command\">Copy</button></div>\n"
			    : typed ? "</pre></div>\n"
				    : "</p>\n");
	}
}

static void head(const cJSON *doc, struct text *t)
{
	text_add(t, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		    "<link rel=\"icon\" href=\"data:,\">\n<title>");
	text_markup(t, json_get_str(doc, "command") ?: "windsock");
	text_add(t, " ");
	text_markup(t, json_text(doc, "verdict"));
	text_add(t, " - ");
	text_markup(t, json_text(doc, "host"));
	text_addf(t, "</title>\n<style>\n%s</style></head>\n", html_style);
}

static size_t count(const cJSON *doc, const char *status)
{
	const cJSON *f;
	size_t n = 0;

	cJSON_ArrayForEach (f, json_get(doc, "findings"))
		n += streq(json_text(f, "status"), status);
	return n;
}

static const char *word(const char *verdict)
{
	return streq(verdict, "fail") ? "FAIL" : streq(verdict, "error") ? "ERROR" : "PASS";
}

static void verdict(const cJSON *doc, const html_nodes *nodes, struct text *t)
{
	const char *v = json_get_str(doc, "verdict") ?: "error";
	const char *covers = json_get_str(json_get(doc, "data"), "covers");

	text_add(t, "<header><h1 class=\"dim\">");
	text_markup(t, json_get_str(doc, "command") ?: "windsock");
	text_add(t, " ");
	text_markup(t, json_text(doc, "windsock"));
	text_add(t, " on ");
	text_markup(t, json_text(doc, "host"));
	text_add(t, ", ");
	text_markup(t, json_text(doc, "time"));
	text_addf(t, ", %.1f s</h1>\n<div class=\"verdict %s\" role=\"status\"><b>%s</b><span>",
		  json_get_num(doc, "seconds", 0), class_of(v), word(v));
	text_addf(t, "%zu failed, %zu warning%s, %zu passed, %zu not tested; %zu host%s",
		  count(doc, "fail"), count(doc, "warn"), count(doc, "warn") == 1 ? "" : "s",
		  count(doc, "pass"), count(doc, "skip") + count(doc, "error"), nodes->n,
		  nodes->n == 1 ? "" : "s");
	if (covers) {
		text_add(t, "<br>");
		text_markup(t, covers);
	}
	text_add(t, "</span></div></header>\n");
}

static void navigation(struct text *t)
{
	text_add(t, "<nav aria-label=\"Sections\"><p><a href=\"#causes\">What to do</a>"
		    "<a href=\"#nodes\">Hosts</a><a href=\"#reach\">Between hosts</a>"
		    "<a href=\"#curves\">Curves</a><a href=\"#findings\">Every check</a>"
		    "<a href=\"#environment\">Environment</a>"
		    "<button class=\"js\" id=\"theme\">Light or dark</button> "
		    "<button class=\"js\" id=\"save\">Save the data</button></p></nav>\n");
}

void html_page(const cJSON *doc, struct arena *a, struct text *ret)
{
	html_nodes nodes = {0};
	html_rows rows = {0};

	html_list_nodes(doc, a, &nodes);
	html_fold(doc, a, &rows);
	text_init(ret, a);
	head(doc, ret);
	text_add(ret, "<body><a class=\"skip\" href=\"#causes\">To what is to be done</a>\n");
	verdict(doc, &nodes, ret);
	navigation(ret);
	text_add(ret, "<main>\n");
	html_causes(doc, &rows, a, ret);
	html_topology(&nodes, a, ret);
	html_node_table(doc, &nodes, a, ret);
	html_heat_maps(doc, a, ret);
	html_curves(doc, a, ret);
	html_findings(&rows, a, ret);
	html_environment(doc, &nodes, a, ret);
	text_add(ret, "</main>\n");
	html_embed(doc, ret);
	text_addf(ret, "<script>\n%s</script>\n</body></html>\n", html_script);
}
