/* What `aws ec2 describe-*` printed: read, judged and reported. Whatever it says, a command that is
 * proposed has nothing in it that a shell would take for more than words. */
#include "lib/report/json.h"
#include "probes/secgroup/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct arena *a, const struct sg_fix *f)
{
	const char *line = sg_fix_line(a, f);
	size_t quotes = 0;

	for (const char *c = line; *c; c++) {
		quotes += *c == '\'';
		if (*c < ' ' || strchr("\"`$;&|<>\\*?~!()\x7f", *c))
			abort();
	}
	if (quotes != 2)
		abort();
}

static bool take(void *arg, const cJSON *doc)
{
	bool known;

	sg_model_add(arg, doc, &known);
	return known;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sg_ask ask = {.ports = {29500, {32768, 60999}}};
	AUTO(arena_done) struct arena a = {0};
	const char *text = arena_strndup(&a, (const char *)data, size);
	struct sg_model m = {.a = &a};
	struct sg_training t;
	struct err e = {0};
	str_list on = {0}; /* without nodes: the groups of one that is made up */
	cJSON *data_of;
	size_t n;

	if (size > 20000 || json_each(text, size, 24, take, &m, &n, &e))
		return 0;
	for (size_t i = 0; i < m.groups.n && !m.nodes.n; i++)
		*LIST_ADD(&a, &on) = m.groups.v[i].id;
	if (sg_train(&m, &ask, &on, &t, &e))
		return 0;
	for (size_t i = 0; i < t.fixes.n; i++)
		check_line(&a, &t.fixes.v[i]);
	for (size_t i = 0; i < t.wishes.n; i++)
		check_line(&a, &t.wishes.v[i]);
	data_of = cJSON_CreateObject();
	sg_train_data(&t, data_of);
	cJSON_Delete(data_of);
	return 0;
}
