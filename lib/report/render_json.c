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

static void end(struct sink *s)
{
	cJSON *root = sink_envelope(s);

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
