#ifndef TESTS_UNIT_DRIFT_WORLD_H
#define TESTS_UNIT_DRIFT_WORLD_H
/* A few hosts that have answered, and what preflight's drift says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/report/json.h"
#include "probes/preflight/drift.h"
#include "tests/unit/report_file.h"

#include <cmocka.h>

struct world {
	char out[64]; /* thrown away */
	struct arena a;
	struct preflight p;
	struct answers all;
};

static inline void world_init(struct world *w, const char *const *facts, size_t n)
{
	struct err e = {0};

	*w = (struct world){0};
	w->p.a = w->p.t.a = &w->a;
	w->p.r = w->p.t.r = report_file_new(w->out, "windsock", "json");
	w->all = (struct answers){.v = arena_alloc(&w->a, n * sizeof(*w->all.v)), .n = n};
	for (size_t i = 0; i < n; i++) {
		const char *text = arena_printf(&w->a, "{\"facts\":%s}", facts[i]);

		w->all.v[i].host = arena_printf(&w->a, "n%zu", i);
		w->all.v[i].doc = json_parse(text, strlen(text), 8, &e);
		w->all.v[i].data = w->all.v[i].doc;
		assert_non_null(w->all.v[i].doc);
	}
}

static inline void world_done(struct world *w)
{
	answers_done(&w->all);
	(void)report_file_done(w->p.r, w->out);
	arena_done(&w->a);
}

static inline const struct finding *found(const struct world *w, size_t i)
{
	assert_true(i < w->p.t.items.n);
	return w->p.t.items.v[i].f;
}

#endif
