/* Results as a spreadsheet, a plotting library or awk takes them: one line each. */
#include "bench/sweep/export.h"

bool export_is_csv(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && streq(path + n - 4, ".csv");
}

static void add_result(struct text *t, const struct story *s, const struct story_row *r,
		       const struct measurement *m, bool in_place)
{
	const struct coll_case *c = &r->c;

	text_addf(t, "%s,%s,%zu,%zu,%zu,%s,%s,%d,%d", c->coll->name, s->backend, (size_t)c->ranks,
		  coll_bytes(c), c->sizes.count, dtype_name(c->type),
		  c->coll->reduces ? redop_name(c->op) : "none", c->coll->rooted ? c->root : -1,
		  in_place);
	text_addf(t, ",%.3f,%.6g,%.6g,", m->seconds * 1e6, m->algbw, m->busbw);
	if (m->wrong >= 0) /* nothing there: it was not looked at */
		text_addf(t, "%lld", (long long)m->wrong);
	text_addf(t, ",%.3f,%.3f,%.3f,%.3f\n", m->min * 1e6, m->p50 * 1e6, m->p99 * 1e6,
		  m->max * 1e6);
}

int export_csv(const struct story *s, const char *path, struct err *e)
{
	struct text t;

	text_init(&t, s->a);
	text_add(&t, "coll,backend,ranks,size,count,type,redop,root,in_place,time_us,algbw,busbw,"
		     "wrong,min_us,p50_us,p99_us,max_us\n");
	for (size_t i = 0; i < s->rows.n; i++) {
		add_result(&t, s, &s->rows.v[i], &s->rows.v[i].row.out, false);
		add_result(&t, s, &s->rows.v[i], &s->rows.v[i].row.in, true);
	}
	return export_new(path, t.s, e);
}
