/* The one document of a run, of what the sink has (envelope.schema.json). */
#include "lib/core/version.h"
#include "lib/report/json.h"
#include "lib/report/report.h"

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

cJSON *sink_envelope(const struct sink *s)
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
	for (size_t i = 0; i < s->kept.n; i++)
		finding_json(findings, s->kept.v[i], s->host);
	add_part(root, "series", s->series, cJSON_CreateArray());
	add_part(root, "data", s->data, cJSON_CreateObject());
	add_part(root, "nodes", s->nodes, cJSON_CreateArray());
	return root;
}
