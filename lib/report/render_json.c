#include "lib/core/opt.h"
#include "lib/report/json.h"
#include "lib/report/report.h"

#include <math.h>

static void series(struct sink *s, const struct series *se)
{
	cJSON *o, *columns;

	s->state = NULL; /* the rows of the latest; none of a view */
	if (se->view)
		return;
	if (!s->series)
		s->series = cJSON_CreateArray();
	o = json_push_object(s->series);
	json_str(o, "name", se->name);
	columns = json_array(o, "columns");
	for (size_t i = 0; i < se->ncolumns; i++) {
		cJSON *c = json_push_object(columns);

		json_str(c, "name", se->columns[i].name);
		json_str(c, "unit", se->columns[i].unit);
	}
	s->state = json_array(o, "rows");
}

/* Cells have places, not keys: what is unknown can only be null here. */
static void row(struct sink *s, const struct series *se, const struct cell *cells)
{
	cJSON *list;

	if (!s->state)
		return;
	list = cJSON_CreateArray();
	cJSON_AddItemToArray(s->state, list);
	for (size_t i = 0; i < se->ncolumns; i++)
		if (se->columns[i].is_text && cells[i].text)
			json_push_str(list, cells[i].text);
		else if (!se->columns[i].is_text && isfinite(cells[i].number))
			cJSON_AddItemToArray(list, cJSON_CreateNumber(cells[i].number));
		else
			cJSON_AddItemToArray(list, cJSON_CreateNull());
}

static void add_finding(cJSON *list, const struct sink *s, const struct finding *f)
{
	cJSON *o = json_push_object(list);

	json_str(o, "check", f->check);
	json_str(o, "status", status_name(f->status));
	json_str(o, "subject", f->subject);
	json_str(o, "host", f->host ? f->host : s->host);
	json_num(o, "rank", f->rank >= 0 ? f->rank : NAN);
	json_str(o, "message", f->message);
	if (f->fix.n) {
		cJSON *fix = json_array(o, "fix");

		for (size_t i = 0; i < f->fix.n; i++)
			json_push_str(fix, f->fix.v[i]);
	}
	json_num(o, "value", f->value);
	json_str(o, "unit", f->unit);
	json_str(o, "expected", f->expected);
	if (f->seconds >= 0 && f->seconds < 1e9) /* not round(): all of libm for one call */
		json_num(o, "seconds", (double)(int64_t)(f->seconds * 1e6 + 0.5) / 1e6);
}

/* A tree that the report keeps, or an empty one of ours. */
static void add_part(cJSON *root, const char *key, cJSON *part, cJSON *empty)
{
	if (part) {
		cJSON_AddItemReferenceToObject(root, key, part);
		cJSON_Delete(empty);
	} else {
		cJSON_AddItemToObject(root, key, empty);
	}
}

static void end(struct sink *s)
{
	cJSON *root = cJSON_CreateObject(), *findings;

	json_str(root, "windsock", WINDSOCK_VERSION);
	json_num(root, "schema", 1);
	json_str(root, "command", s->opts->command);
	json_str(root, "host", s->host);
	json_str(root, "time", s->time);
	json_num(root, "seconds", s->seconds);
	json_str(root, "verdict", s->verdict);
	findings = json_array(root, "findings");
	for (size_t i = 0; i < s->findings.n; i++)
		add_finding(findings, s, s->findings.v[i]);
	add_part(root, "series", s->series, cJSON_CreateArray());
	add_part(root, "data", s->data, cJSON_CreateObject());
	add_part(root, "nodes", s->nodes, cJSON_CreateArray());
	json_print(s->out, root);
	fputc('\n', s->out);
	cJSON_Delete(root);
}

const struct renderer render_json = {
	.name = "json",
	.help = "one JSON document (schema 1)",
	.wants_data = true,
	.series = series,
	.row = row,
	.end = end,
};
