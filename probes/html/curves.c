/* Collectives over their sizes, and how training went. */
#include "lib/core/units.h"
#include "lib/report/envelope.h"
#include "probes/html/parts.h"

#include <math.h>

static struct chart_line *line_named(chart_lines *all, const char *name, struct arena *a)
{
	struct chart_line *l;

	for (size_t i = 0; i < all->n; i++)
		if (streq(all->v[i].name, name))
			return &all->v[i];
	l = LIST_ADD(a, all);
	l->name = name;
	return l;
}

static void results(const cJSON *list, const char *value, struct arena *a, chart_lines *ret)
{
	const cJSON *r;

	cJSON_ArrayForEach (r, list) {
		const char *name =
			arena_printf(a, "%s%s", json_text(r, "coll"),
				     cJSON_IsTrue(json_get(r, "in_place")) ? ", in place" : "");

		*LIST_ADD(a, &line_named(ret, name, a)->points) = (struct chart_point){
			json_get_num(r, "size", NAN), json_get_num(r, value, NAN)};
	}
}

static void number(const cJSON *r, const char *key, const char *format, struct text *t)
{
	double v = json_get_num(r, key, NAN);

	text_add(t, "<td class=\"n\">");
	if (isfinite(v) && streq(format, "0"))
		text_addf(t, "%.0f", v);
	else if (isfinite(v))
		text_addf(t, "%.4g", v);
	text_add(t, "</td>");
}

static void result_table(const cJSON *list, const char *title, struct text *t)
{
	static const char *const columns[] = {"time_us", "algbw",  "busbw",
					      "p50_us",	 "p99_us", "wrong"};
	const cJSON *r;

	if (!cJSON_GetArraySize(list))
		return;
	text_addf(t, "<details><summary>%s</summary>", title);
	html_table(t, title, false);
	text_add(t, "<thead><tr><th scope=\"col\">collective</th>"
		    "<th scope=\"col\" class=\"n\">size (B)</th>");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		text_addf(t, "<th scope=\"col\" class=\"n\">%s</th>", columns[i]);
	text_add(t, "</tr></thead><tbody>\n");
	cJSON_ArrayForEach (r, list) {
		text_add(t, "<tr><td>");
		text_markup(t, json_text(r, "coll"));
		text_addf(t, "%s</td>", cJSON_IsTrue(json_get(r, "in_place")) ? ", in place" : "");
		number(r, "size", "0", t);
		for (size_t i = 0; i < ARRAY_LEN(columns); i++)
			number(r, columns[i], "", t);
		text_add(t, "</tr>\n");
	}
	html_table_end(t);
	text_add(t, "</details>\n");
}

static void training(const cJSON *p, struct arena *a, struct text *t)
{
	static const struct chart chart = {"Training: loss of each epoch", "epoch", "loss",
					   .whole = true};
	chart_lines lines = {0};
	const cJSON *e;
	double pace = json_get_num(json_get(p, "throughput"), "samples_per_s", NAN);

	cJSON_ArrayForEach (e, json_get(p, "epochs")) {
		double x = json_get_num(e, "epoch", NAN) + 1; /* as the progress bar counts */

		*LIST_ADD(a, &line_named(&lines, "training", a)->points) =
			(struct chart_point){x, json_get_num(e, "loss", NAN)};
		*LIST_ADD(a, &line_named(&lines, "validation", a)->points) =
			(struct chart_point){x, json_get_num(e, "validation_loss", NAN)};
	}
	html_draw(&chart, &lines, t);
	if (pace > 0)
		text_addf(t, "<p>%.0f samples/s in all.</p>\n", pace);
}

static void sweep(const cJSON *list, bool is_long, struct arena *a, struct text *t)
{
	const struct chart bandwidth = {is_long ? "Bus bandwidth, the long sweep" : "Bus bandwidth",
					"size", "GB/s", .log = true, .sizes = true};
	const struct chart latency = {is_long ? "Time, the long sweep" : "Time",
				      "size",
				      "time",
				      .log = true,
				      .sizes = true,
				      .durations = true};
	chart_lines busbw = {0}, time = {0};

	results(list, "busbw", a, &busbw);
	results(list, "time_us", a, &time);
	html_draw(&bandwidth, &busbw, t);
	html_draw(&latency, &time, t);
	result_table(list, is_long ? "The numbers of the long sweep" : "The numbers", t);
}

/* A burn-in's sizes, over its time. */
static void course(const cJSON *list, struct arena *a, struct text *t)
{
	static const struct chart chart = {"Bus bandwidth over the time", "second", "GB/s",
					   .log = false};
	chart_lines lines = {0};
	const cJSON *r, *p;
	struct unit_buf b;

	cJSON_ArrayForEach (r, list) {
		double bytes = json_get_num(r, "size", 0);
		struct chart_line *l;

		if (!(bytes >= 0 && bytes < 1e18))
			continue;
		l = line_named(&lines, arena_strdup(a, format_size(&b, (uint64_t)bytes)), a);
		cJSON_ArrayForEach (p, json_get(r, "points"))
			if (cJSON_GetArraySize(p) == 2)
				*LIST_ADD(a, &l->points) = (struct chart_point){
					p->child->valuedouble, p->child->next->valuedouble};
	}
	html_draw(&chart, &lines, t);
}

/* Of what was measured twice the longer run is drawn, and both have their numbers. */
void html_curves(const cJSON *doc, struct arena *a, struct text *t)
{
	const cJSON *part = envelope_part(doc, "collectives", "ncclbench");
	const cJSON *coll = json_get(part, "results");
	const cJSON *more = json_get(envelope_part(doc, "sweep", "ncclbench"), "results");
	const cJSON *train = envelope_part(doc, "expectations", "ddpsmoke");
	bool is_long = more != coll && cJSON_GetArraySize(more);

	if (!cJSON_GetArraySize(json_get(train, "epochs")))
		train = envelope_part(doc, "training", "ddpsmoke");
	html_open(t, "curves", "Curves");
	sweep(is_long ? more : coll, is_long, a, t);
	course(json_get(json_get(part, "course"), "sizes"), a, t);
	if (is_long)
		result_table(coll, "The numbers of the short sweep", t);
	training(train, a, t);
	if (!is_long && !cJSON_GetArraySize(coll) && !cJSON_GetArraySize(json_get(train, "epochs")))
		text_add(t, cJSON_GetArraySize(json_get(part, "pairs"))
				    ? "<p>Only what is between pairs was measured.</p>\n"
				    : "<p>No data was moved in this run.</p>\n");
	text_add(t, "</section>\n");
}
