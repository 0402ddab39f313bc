/* Any bytes as what is read of another process and of another host: the tables of a Python, and
 * stands as JSON. What is accepted can be judged, and what is said is whole. */
#include "lib/python/layout.h"
#include "lib/report/json.h"
#include "probes/stacks/judge.h"

static void tables(const uint8_t *data, size_t n)
{
	static const int firsts[] = {1, 0, INT32_MAX, INT32_MIN};
	struct py_layout l;

	for (int64_t at = -2; at < 64; at += 2)
		for (enum line_table form = LINES_STEPS; form <= LINES_LOCATIONS; form++)
			for (size_t k = 0; k < ARRAY_LEN(firsts); k++)
				(void)line_of(form, data, n, firsts[k], at);
	if (layout_told(data, n, &l) && (l.version < 0x030d || l.version > 0x030e))
		abort();
}

static void stands(const char *text, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	struct err ignored = {0};
	cJSON *doc = json_parse(text, n, 12, &ignored), *back;
	stand_list all = {0};
	const cJSON *one;

	cJSON_ArrayForEach (one, doc) {
		struct stand s;

		if (!stand_from_json(one, "node1", &a, &s))
			continue;
		*LIST_ADD(&a, &all) = s;
		back = stand_json(&s);
		if (!back)
			abort();
		cJSON_Delete(back);
	}
	(void)stacks_brief(&all, &a);
	cJSON_Delete(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	tables(data, n);
	stands((const char *)data, n);
	return 0;
}
