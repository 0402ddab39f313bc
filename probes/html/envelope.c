/* The run inside its page: what `windsock diff` compares and what can be saved. */
#include "probes/html/parts.h"

static const char mark[] = "<script type=\"application/json\" id=\"envelope\">";

/* A page that nobody can open tells nothing: 700 hosts come to so many findings. */
enum { TARGETS_MAX = 20000, FINDINGS_MAX = 50000 };

static bool is_wrong(const cJSON *f)
{
	static const char *const not_wrong[] = {"pass", "info", "skip"};
	const char *st = json_text(f, "status");

	for (size_t i = 0; i < ARRAY_LEN(not_wrong); i++)
		if (streq(st, not_wrong[i]))
			return false;
	return true;
}

/* In a comparison it is no different whether something passed or was not said. */
static cJSON *wrong_of(const cJSON *findings)
{
	cJSON *ret = cJSON_CreateArray();
	const cJSON *f;

	cJSON_ArrayForEach (f, findings)
		if (is_wrong(f))
			cJSON_AddItemToArray(ret, cJSON_Duplicate(f, true));
	return ret;
}

/* A host without what the parts of its run said. */
static cJSON *brief(const cJSON *node)
{
	const cJSON *data = json_get(node, "data"), *v;
	cJSON *ret = cJSON_CreateObject(), *of;

	json_str(ret, "host", json_get_str(node, "host"));
	of = json_object(ret, "data");
	cJSON_ArrayForEach (v, data)
		if (!streq(v->string, "parts") && !streq(v->string, "causes"))
			cJSON_AddItemToObject(of, v->string, cJSON_Duplicate(v, true));
	return ret;
}

static cJSON *brief_nodes(const cJSON *nodes)
{
	cJSON *ret = cJSON_CreateArray();
	const cJSON *n;

	cJSON_ArrayForEach (n, nodes)
		cJSON_AddItemToArray(ret, brief(n));
	return ret;
}

static cJSON *without_bulk(const cJSON *doc)
{
	bool bulky = cJSON_GetArraySize(json_get(doc, "findings")) > FINDINGS_MAX;
	cJSON *copy = cJSON_CreateObject(), *reach;
	const cJSON *v;

	cJSON_ArrayForEach (v, doc)
		cJSON_AddItemToObject(copy, v->string,
				      bulky && streq(v->string, "findings") ? wrong_of(v)
				      : bulky && streq(v->string, "nodes")
					      ? brief_nodes(v)
					      : cJSON_Duplicate(v, true));
	reach = cJSON_GetObjectItemCaseSensitive(copy, "data");
	reach = cJSON_GetObjectItemCaseSensitive(reach, "parts");
	reach = cJSON_GetObjectItemCaseSensitive(reach, "reach");
	if (cJSON_GetArraySize(json_get(reach, "targets")) > TARGETS_MAX)
		cJSON_DeleteItemFromObjectCaseSensitive(reach, "targets");
	return copy;
}

/* Inside a script element only "</" and "<!--" end anything. */
void html_embed(const cJSON *doc, struct text *t)
{
	cJSON *copy = without_bulk(doc);
	char *json = cJSON_PrintUnformatted(copy);

	text_add(t, mark);
	for (const char *s = json; s && *s;) {
		size_t n = strcspn(s, "<");

		text_addn(t, s, n);
		s += n;
		if (*s == '<') {
			text_add(t, "\\u003c");
			s++;
		}
	}
	text_add(t, "</script>\n");
	cJSON_free(json);
	cJSON_Delete(copy);
}

const char *html_envelope(const char *page, size_t n, size_t *ret_n)
{
	const char *at = memmem(page, n, mark, sizeof(mark) - 1), *end;

	if (!at)
		return NULL;
	at += sizeof(mark) - 1;
	end = memmem(at, n - (size_t)(at - page), "</script>", strlen("</script>"));
	if (!end)
		return NULL;
	*ret_n = (size_t)(end - at);
	return at;
}
