#include "probes/tally/ranks.h"

#include "lib/core/stats.h"
#include "lib/core/text.h"

enum { NAMED = 8 };

/* What comes next of @v, which is sorted, from @i on: a span of three or more, or one. */
static size_t span(const int *v, size_t n, size_t i)
{
	size_t k = i + 1;

	while (k < n && v[k] <= v[k - 1] + 1)
		k++;
	return v[k - 1] > v[i] + 1 ? k : i + 1;
}

const char *say_ranks(struct arena *a, const int *ranks, size_t n)
{
	int *v = arena_alloc(a, (n + 1) * sizeof(*v));
	size_t named = 0;
	struct text t;

	text_init(&t, a);
	if (n)
		memcpy(v, ranks, n * sizeof(*v));
	sort_ints(v, n);
	text_add(&t, n == 1 ? "rank" : "ranks");
	for (size_t i = 0, k; i < n; i = k) {
		k = span(v, n, i);
		if (named++ == NAMED) {
			text_more(&t, "", n, i);
			break;
		}
		text_add(&t, named == 1 ? " " : k == n ? " and " : ", ");
		text_addf(&t, k > i + 1 ? "%d-%d" : "%d", v[i], v[k - 1]);
	}
	return t.s;
}
