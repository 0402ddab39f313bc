#ifndef TESTS_UNIT_MADE_MESH_H
#define TESTS_UNIT_MADE_MESH_H
/* A mesh of three hosts, as it is before a rank has spoken, and what their ranks say. */
#include "lib/report/json.h"
#include "probes/port/mesh.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MADE_HOSTS = 3 };

static inline void made_mesh(struct mesh *m, const struct mesh_opts *o, struct arena *a)
{
	struct report_opts opts = {.command = "portcheck", .format = "json", .host = "me"};

	mesh_init(m, o, MADE_HOSTS, a, report_new(&opts, &(struct err){0}));
	assert_non_null(m->report);
}

/* A line each, as mesh_line() writes it; rank i is at node @nodes[i]. */
static inline void made_mesh_take(struct mesh *m, const char *const *lines, const size_t *nodes,
				  size_t n)
{
	m->rank_node = nodes;
	m->nranks = n;
	for (enum mesh_pass pass = 0; pass < MESH_PASSES; pass++)
		for (size_t i = 0; i < n; i++) {
			cJSON *line = json_parse(lines[i], strlen(lines[i]), 8, &(struct err){0});

			assert_non_null(line);
			mesh_take(m, pass, line);
			cJSON_Delete(line);
		}
}

static inline void made_mesh_take_all(struct mesh *m, const char *const lines[MADE_HOSTS])
{
	static const size_t nodes[MADE_HOSTS] = {0, 1, 2};

	made_mesh_take(m, lines, nodes, MADE_HOSTS);
}

#endif
