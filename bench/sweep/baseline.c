#include "bench/sweep/baseline.h"

#include "bench/sweep/verdict.h"
#include "lib/core/file.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

enum { SCHEMA = 1, FILE_MAX = 16 << 20, DEPTH = 8 };
const double BASELINE_WARN = 0.9, BASELINE_FAIL = 0.8;

struct point {
	double size, busbw;
	const char *type, *op;
	int root; /* -1: of none, or an older file does not say */
};
struct baseline {
	const char *path, *coll, *backend, *device, *groups, *transport;
	double ranks, hosts; /* hosts 0: an older file does not say */
	LIST(struct point) points;
};

/* Of rows that carried something; false: there is none that is compared. */
static bool add_rows(cJSON *rows, const struct story *s)
{
	bool large = false;

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct story_row *r = &s->rows.v[i];
		cJSON *o = sweep_row_busbw(&r->row) > 0 ? json_push_object(rows) : NULL;

		if (!o)
			continue;
		json_num(o, "size", (double)coll_bytes(&r->c));
		json_str(o, "dtype", dtype_name(r->c.type));
		json_str(o, "redop", redop_name(r->c.op));
		json_num(o, "root", r->c.coll->rooted ? r->c.root : NAN);
		json_num(o, "busbw", sweep_row_busbw(&r->row));
		large |= coll_bytes(&r->c) >= BASELINE_LARGE;
	}
	return large;
}

static int nothing_to_save(const char *path, struct err *e)
{
	err_set(e, ERR_SYS,
		"nothing was written to %.300s: no message of 1 MiB or more carried anything, and "
		"baselines are compared by those",
		path);
	return err_hint(e, "-b 1M -e 64M");
}

int baseline_save(const struct story *s, const char *path, struct err *e)
{
	cJSON *doc = cJSON_CreateObject();
	bool has_rows;
	char *text;
	int result;

	json_num(doc, "ncclbench_baseline", SCHEMA);
	json_str(doc, "coll", s->sweep.coll->name);
	json_str(doc, "backend", s->backend);
	json_str(doc, "transport", s->transport);
	json_str(doc, "device", s->device);
	json_num(doc, "ranks", (double)s->ranks.n);
	json_num(doc, "hosts", (double)story_hosts(s));
	json_str(doc, "groups", s->o->groups);
	has_rows = add_rows(json_array(doc, "rows"), s);
	text = has_rows ? cJSON_Print(doc) : NULL;
	cJSON_Delete(doc);
	if (!has_rows)
		return nothing_to_save(path, e);
	if (!text)
		return err_sys(e, "cannot write the baseline");
	result = file_replace(path, text, strlen(text), &(struct file_replace_opts){0}, e);
	cJSON_free(text);
	return result;
}

/* Into a device or a pipe none is written. */
static void no_baseline(const char *path, const cJSON *doc, struct arena *a, struct err *e)
{
	const cJSON *schema = json_get(doc, "ncclbench_baseline");
	bool other = cJSON_IsNumber(schema) && schema->valuedouble != SCHEMA;

	(void)err_set(e, ERR_USAGE, "%s is %s", file_said(path),
		      other ? "a baseline of another release, which measured otherwise"
			    : "no baseline, or not all of one");
	(void)err_hint(e, "ncclbench --save-baseline %s writes one",
		       file_is_stream(path) ? "FILE" : shell_quote_line(a, path));
}

static void take_baseline(const cJSON *doc, struct arena *a, struct baseline *b)
{
	const cJSON *row;

	b->coll = json_copy(a, doc, "coll") ?: "";
	b->backend = json_copy(a, doc, "backend") ?: "";
	b->device = json_copy(a, doc, "device") ?: "";
	b->groups = json_copy(a, doc, "groups") ?: "";
	b->transport = json_copy(a, doc, "transport") ?: "";
	b->ranks = json_get_num(doc, "ranks", 0);
	b->hosts = json_get_num(doc, "hosts", 0);
	cJSON_ArrayForEach (row, json_get(doc, "rows"))
		*LIST_ADD(a, &b->points) = (struct point){.size = json_get_num(row, "size", 0),
							  .busbw = json_get_num(row, "busbw", 0),
							  .root = json_get_int(row, "root", -1),
							  .type = json_copy(a, row, "dtype") ?: "",
							  .op = json_copy(a, row, "redop") ?: ""};
}

const struct baseline *baseline_read(const char *path, struct arena *a, struct err *e)
{
	struct baseline *b = ARENA_NEW(a, struct baseline);
	cJSON *doc;
	char *text;
	size_t n;

	*b = (struct baseline){.path = path, .coll = ""};
	if (file_read_given(path, FILE_MAX, FILE_PATIENCE_NS, a, &text, &n, e))
		return NULL;
	doc = json_parse(text, n, DEPTH, e);
	if (json_get_num(doc, "ncclbench_baseline", 0) == SCHEMA)
		take_baseline(doc, a, b);
	if (!*b->coll || !b->points.n) /* of nothing: no run would be like it */
		no_baseline(path, doc, a, e);
	cJSON_Delete(doc);
	return *b->coll && b->points.n ? b : NULL;
}

static bool is_root(const struct point *p, const struct coll_case *c)
{
	return !c->coll->rooted || p->root < 0 || p->root == c->root;
}

static bool is_kind(const struct point *p, const struct coll_case *c)
{
	return streq(p->type, dtype_name(c->type)) && streq(p->op, redop_name(c->op));
}

static const struct point *find_point(const struct baseline *b, const struct story_row *r)
{
	for (size_t i = 0; i < b->points.n; i++)
		if (b->points.v[i].size == (double)coll_bytes(&r->c) &&
		    is_kind(&b->points.v[i], &r->c) && is_root(&b->points.v[i], &r->c))
			return &b->points.v[i];
	return NULL;
}

/* In other words they may be the same: 'mod 2', NCCL_TESTS_SPLIT='MOD 2', '0,2;1,3'. */
static bool has_groups(const struct story *s, const char *text)
{
	const struct groups *own = &s->groups.g;
	struct groups_spec spec;
	struct groups g;
	struct err ignored = {0};

	if (!*text || !s->o->groups || streq(text, s->o->groups))
		return streq(text, s->o->groups ?: "");
	return !groups_parse(text, s->a, &spec, &ignored) &&
	       !groups_of(&spec, (int)s->ranks.n, s->a, &g, &ignored) && own->size == g.size &&
	       !memcmp(own->of, g.of, (size_t)g.size * sizeof(*g.of));
}

/* One of its rows is so to one of ours. */
static bool has_such(const struct story *s, const struct baseline *b,
		     bool (*is_such)(const struct point *p, const struct coll_case *c))
{
	for (size_t i = 0; i < s->rows.n; i++)
		for (size_t k = 0; k < b->points.n; k++)
			if (is_such(&b->points.v[k], &s->rows.v[i].c))
				return true;
	return !s->rows.n;
}

/* "; it had 3 sockets per pair of ranks, this run has 1", or "". */
static const char *other_sockets(const struct story *s, const struct baseline *b)
{
	unsigned long were = strtoul(b->transport, NULL, 10), are = strtoul(s->transport, NULL, 10);

	if (!streq(s->backend, "tcp") || !were || !are || were == are)
		return "";
	return arena_printf(s->a, "; it had %lu socket%s per pair of ranks, this run has %lu", were,
			    were > 1 ? "s" : "", are);
}

/* What makes two runs no match for each other, or NULL. */
static const char *difference(const struct story *s, const struct baseline *b)
{
	if (!streq(b->coll, s->sweep.coll->name))
		return arena_printf(s->a, "it is of %s", b->coll);
	if (!streq(b->backend, s->backend) || !streq(b->device, s->device))
		return arena_printf(s->a, "it is of %s over %s", b->device, b->backend);
	if (!has_groups(s, b->groups))
		return *b->groups ? arena_printf(s->a, "it is of --groups '%s'", b->groups)
				  : "it is of all ranks together";
	if (b->ranks != (double)s->ranks.n)
		return arena_printf(s->a, "it is of %g ranks", b->ranks);
	if (b->hosts > 0 && b->hosts != (double)story_hosts(s))
		return arena_printf(s->a, "its ranks were on %g host%s, these on %zu", b->hosts,
				    b->hosts > 1 ? "s" : "", story_hosts(s));
	if (!has_such(s, b, is_kind))
		return arena_printf(s->a, "it is of %s%s%s", b->points.v[0].type,
				    s->sweep.coll->reduces ? ", " : "",
				    s->sweep.coll->reduces ? b->points.v[0].op : "");
	if (!has_such(s, b, is_root))
		return arena_printf(s->a, "it is of root %d", b->points.v[0].root);
	return NULL;
}

struct comparison {
	double logs, worst;
	size_t n, worst_bytes;
};

static struct comparison compare(const struct story *s, const struct baseline *b)
{
	struct comparison c = {.worst = INFINITY};

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct point *p = find_point(b, &s->rows.v[i]);
		double ratio;

		if (!p || p->size < BASELINE_LARGE || p->busbw <= 0)
			continue;
		ratio = sweep_row_busbw(&s->rows.v[i].row) / p->busbw;
		c.logs += log(fmax(ratio, 1e-9));
		c.n++;
		if (ratio < c.worst) {
			c.worst = ratio;
			c.worst_bytes = (size_t)p->size;
		}
	}
	return c;
}

/* Of one size less is asked: chance has less to average out. Yet what two ways of measuring it
 * lack, out of place and in place, many good sizes are not to hide. */
static enum status status_of(const struct comparison *c, double mean, double warn, double fail)
{
	if (mean < fail || c->worst < fail / 2)
		return ST_FAIL;
	return mean < warn || c->worst < fail ? ST_WARN : ST_PASS;
}

/* Of two on one host nobody can stand out. */
static void fix_slower(const struct story *s, struct finding *f)
{
	if (story_hosts(s) > 1 || s->ranks.n > 2)
		again_fix(f, &s->o->again, "--find-slow", "which node or link");
	else
		finding_fix(f, "uptime; top -b -n 1  # what else runs here?");
}

void baseline_judge(const struct story *s, const struct baseline *b, double warn, double fail)
{
	struct finding *f = report_find(s->r, "coll.baseline", b->path);
	const char *other = difference(s, b);
	struct comparison c = compare(s, b);
	double mean = exp(c.logs / (double)(c.n ? c.n : 1));
	struct unit_buf size;

	warn = fmax(warn, fail); /* one may be given alone */
	finding_expect(f, ">= %g %% of the baseline", warn * 100);
	if (other) {
		finding_set(f, ST_ERROR, "the baseline cannot be compared with this run: %s",
			    other);
	} else if (!c.n) {
		finding_set(f, ST_ERROR,
			    "the baseline and this run have no size of 1 MiB or more "
			    "in common");
	} else {
		finding_set(f, status_of(&c, mean, warn, fail),
			    "%.0f %% of the baseline's bus bandwidth over %zu size%s, %.0f %% at "
			    "worst (%s)%s",
			    mean * 100, c.n, c.n == 1 ? "" : "s", c.worst * 100,
			    format_size(&size, c.worst_bytes), other_sockets(s, b));
		finding_value(f, mean * 100, "%");
	}
	if (f->status == ST_FAIL || f->status == ST_WARN)
		fix_slower(s, f);
	verdict_add(s->r, f);
}
