/* Any text as --groups, between any number of ranks: each is in one group at most, and all of
 * them are told. */
#include "bench/sweep/groups.h"

static void expect(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO(arena_done) struct arena a = {0};
	int size = n ? 1 + data[0] : 1, members = 0;
	char *text = arena_strndup(&a, (const char *)data + (n > 0), n ? n - 1 : 0);
	struct groups_spec s;
	struct groups g;
	struct err e = {0};

	if (groups_parse(text, &a, &s, &e) || groups_of(&s, size, &a, &g, &e)) {
		expect(e.kind == ERR_USAGE && *e.msg);
		return 0;
	}
	expect(g.n > 0 && g.n <= size && g.least > 0 && g.lead >= 0 && g.lead < g.n);
	for (int i = 0; i < g.n; i++) {
		expect(g.v[i].n >= g.least && g.v[i].id >= 0 && (!i || g.v[i].id > g.v[i - 1].id));
		members += g.v[i].n;
		for (int k = 0; k < g.v[i].n; k++)
			expect(g.of[g.v[i].ranks[k]] == i);
		expect(strlen(group_ranks_text(&g.v[i], &a)) < 100);
	}
	expect(members == g.members);
	return 0;
}
