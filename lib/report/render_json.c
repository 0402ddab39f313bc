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
		finding_json(findings, s->findings.v[i], s->host);
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
