/* What `gcloud compute ... list` and `az network ... list` printed: read, judged, reported.
 * Whatever it says, a command that is proposed has nothing in it that a shell would take for more
 * than words. */
#include "lib/report/json.h"
#include "probes/walls/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Quotes come in pairs, and between them anything may stand; words begin with "- ". */
static void check_line(const char *line)
{
	bool is_quoted = false;

	for (const char *c = line; *c && !starts_with(line, "- "); c++) {
		if (!is_quoted && c[0] == '\\' && c[1] == '\'') {
			c++;
			continue;
		}
		is_quoted ^= *c == '\'';
		if ((unsigned char)*c < ' ' || (!is_quoted && strchr("\"`$;&|<>\\*?~!()\x7f", *c)))
			abort();
	}
	if (is_quoted)
		abort();
}

static void judge(struct walls *w)
{
	static const struct port_needs needs = {29500, {32768, 60999}};
	const str_list none = {0};
	struct walls_training t;
	struct err e = {0};
	cJSON *data;

	if (walls_train(w, &needs, &none, &t, &e))
		return;
	for (size_t i = 0; i < t.cases.n; i++) {
		const struct wall_view *v = &t.cases.v[i].view;
		str_list lines = walls_mend(&t, v->wall, v->is_egress, w->a);

		for (size_t k = 0; k < lines.n; k++)
			check_line(lines.v[k]);
	}
	data = cJSON_CreateObject();
	walls_train_data(&t, data);
	cJSON_Delete(data);
}

static bool take(void *arg, const cJSON *doc)
{
	bool known;

	walls_add(arg, doc, &known);
	return known;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	const char *text = arena_strndup(&a, (const char *)data, size);
	struct walls w = {.a = &a};
	const str_list none = {0};
	struct wall_node *nodes;
	struct err e = {0};
	size_t n;

	if (size > 20000 || json_each(text, size, 24, take, &w, &n, &e))
		return 0;
	walls_settle(&w);
	if (!w.nodes.n) {
		walls_imagine(&w, &none, &a, &nodes, &n);
		for (size_t i = 0; i < n && i < 20; i++)
			*LIST_ADD(&a, &w.nodes) = nodes[i];
	}
	judge(&w);
	return 0;
}
