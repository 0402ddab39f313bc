#ifndef TESTS_UNIT_DEV_TABLES_H
#define TESTS_UNIT_DEV_TABLES_H
/*
 * Host memory whose patterns are worked out once and kept: in a soak the same
 * hundred of them are filled and compared a hundred thousand times, and to make
 * each anew took most of the time. The values are pattern_values()'s own.
 */
#include "bench/dev/dev.h"

#include <stdlib.h>

enum {
	TABLE_SEEDS = 3, /* so that what the case before left is never right */
	TABLE_RANKS = 9,
	TABLE_BYTES = PATTERN_PERIOD * 8,
};

/* Of worlds of one size, by type, reduction, seed, and rank (0: the result). */
struct tables {
	char *of[DT_COUNT][OP_COUNT + 1][TABLE_SEEDS][TABLE_RANKS + 1];
	int ranks;
};
static struct tables kept_tables;

static inline void tables_forget(void)
{
	char **v = &kept_tables.of[0][0][0][0];

	for (size_t i = 0; i < sizeof(kept_tables.of) / sizeof(*v); i++)
		free(v[i]);
	kept_tables = (struct tables){0};
}

static inline const char *table_of(const struct pattern *p)
{
	char **t;

	if (p->ranks != kept_tables.ranks)
		tables_forget();
	kept_tables.ranks = p->ranks;
	t = &kept_tables.of[p->type][p->op][p->seed % TABLE_SEEDS][p->rank + 1];
	if (!*t) {
		*t = malloc(TABLE_BYTES);
		if (!*t)
			abort();
		pattern_values(p, PATTERN_PERIOD, *t);
	}
	return *t;
}

/* All of @n elements, a period at a time: copied, or (false: one differs) compared. */
static inline bool walk_table(char *to, const struct pattern *p, size_t from, size_t n, bool copy)
{
	const char *table = table_of(p);
	size_t size = dtype_size(p->type), at = from % PATTERN_PERIOD, k;

	for (; n; n -= k, to += k * size, at = 0) {
		k = n < PATTERN_PERIOD - at ? n : PATTERN_PERIOD - at;
		if (copy)
			memcpy(to, table + at * size, k * size);
		else if (memcmp(to, table + at * size, k * size) != 0)
			return false;
	}
	return true;
}

static inline void tables_clear(struct dev *d, void *p, size_t n)
{
	(void)d;
	memset(p, 0xa5, n);
}

static inline void tables_fill(struct dev *d, void *p, const struct pattern *pattern, size_t from,
			       size_t n)
{
	(void)d;
	(void)walk_table(p, pattern, from, n, true);
}

static inline size_t tables_wrong(struct dev *d, const void *p, const struct pattern *pattern,
				  size_t from, size_t n)
{
	(void)d;
	return walk_table((char *)(uintptr_t)p, pattern, from, n, false)
		       ? 0
		       : dev_host.wrong(&dev_host, p, pattern, from, n);
}

static struct dev dev_tables = {
	.kind = "host memory, patterns kept",
	.clear = tables_clear,
	.fill = tables_fill,
	.wrong = tables_wrong,
};

#endif
