/*
 * The environment of a launcher: NAME=VALUE lines, and on the first line an
 * --init URL. What is said about it is fit for a terminal, and a world without
 * trouble is one.
 */
#include "lib/cluster/world.h"

#include <ctype.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct table {
	struct arena a;
	str_list lines;
};

static const char *from_table(const char *name, void *arg)
{
	const struct table *t = arg;
	size_t n = strlen(name);

	for (size_t i = 0; i < t->lines.n; i++)
		if (starts_with(t->lines.v[i], name) && t->lines.v[i][n] == '=')
			return t->lines.v[i] + n + 1;
	return NULL;
}

static void is_clean(const char *s)
{
	for (; s && *s; s++)
		if (iscntrl((unsigned char)*s))
			abort();
}

static void is_world(const struct world *w)
{
	is_clean(w->note);
	is_clean(w->trouble);
	if (w->trouble)
		return;
	if (w->rank < -1 || w->size < -1 || w->size > WORLD_MAX || w->size == 0 ||
	    (w->rank >= 0 && w->size >= 0 && w->rank >= w->size) ||
	    (w->local_rank >= 0 && w->local_size >= 0 && w->local_rank >= w->local_size) ||
	    (w->launcher != LAUNCHER_NONE && (w->rank < 0 || w->size < 0)) ||
	    (w->master_addr && !*w->master_addr))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	struct table t = {0};
	char *rest = arena_strndup(&a, (const char *)data, n), *line;
	struct world_init unsaid = {.rank = -1, .size = -1}, said = {.rank = 1, .size = 2};
	struct world w;
	struct err e = {0};

	while ((line = strsep(&rest, "\n")))
		*LIST_ADD(&a, &t.lines) = line;
	world_from_env(from_table, &t, &a, &w);
	is_world(&w);
	unsaid.url = said.url = t.lines.v[0];
	if (world_from_init(&unsaid, from_table, &t, &a, &w, &e) == 0)
		is_world(&w);
	if (world_from_init(&said, from_table, &t, &a, &w, &e) == 0)
		is_world(&w);
	return 0;
}
