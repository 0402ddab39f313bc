/* What ranks of the mesh say of themselves: two lines of JSON, taken and judged. */
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/port/mesh.h"

enum { NODES = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void take(struct mesh *m, enum mesh_pass pass, const char *text, size_t n)
{
	struct err e;
	cJSON *line = json_parse(text, n, 8, &e);

	if (line)
		mesh_take(m, pass, line);
	cJSON_Delete(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const size_t nodes[] = {0, MESH_NO_NODE, 2};
	const struct report_opts ro = {
		.command = "portcheck", .format = "json", .output = "/dev/null", .host = "me"};
	const char *text = (const char *)data, *second = memchr(text, '\n', n);
	size_t first_n = second ? (size_t)(second - text) : n;
	AUTO(arena_done) struct arena a = {0};
	struct mesh_opts o = {.idle_ns = 4 * NS_PER_S};
	struct err e = {0}, nothing = {.kind = ERR_USAGE};
	struct report *r = report_new(&ro, &e);
	struct mesh m;

	if (!r)
		return 0;
	mesh_init(&m, &o, NODES, &a, r);
	m.rank_node = nodes;
	m.nranks = NODES;
	for (size_t i = 0; i < NODES; i++)
		m.nodes[i].name = "node";
	for (enum mesh_pass pass = 0; pass < MESH_PASSES; pass++) {
		take(&m, pass, text, first_n);
		if (second)
			take(&m, pass, second + 1, n - first_n - 1);
	}
	mesh_conclude(&m);
	(void)report_end(r, &nothing);
	return 0;
}
