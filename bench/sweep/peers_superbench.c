/*
 * SuperBench's summary: one object for each node, flat, of "benchmark/metric[:rank]". What is read
 * of it: nccl-bw and rccl-bw (bus bandwidths), mem-bw (host and GPU), and who did not end well.
 */
#include "bench/sweep/peers.h"
#include "bench/sweep/slow.h"
#include "lib/report/json.h"

#include <ctype.h>
#include <float.h>
#include <math.h>

enum { DEPTH = 8, SERIES_MOST = 256, SIZES_MOST = 64 };

struct figure {
	const char *who;
	double bytes, gbps;
};
struct lineup { /* of one collective, or direction, of all nodes */
	const char *name, *bench;
	LIST(struct figure) cells;
};
struct failure {
	const char *bench, *words;
	int nodes;
	bool is_told; /* with one of its collectives */
};
struct summary {
	struct arena *a;
	LIST(struct lineup) series;
	LIST(struct failure) failures;
	size_t unread; /* lines */
	const char *node;
};

static struct lineup *series_of(struct summary *s, const char *bench, const char *op)
{
	const char *name = arena_printf(s->a, "%s/%s", bench, op);
	struct lineup *x;

	for (size_t i = 0; i < s->series.n; i++)
		if (streq(s->series.v[i].name, name))
			return &s->series.v[i];
	if (s->series.n == SERIES_MOST)
		return NULL;
	x = LIST_ADD(s->a, &s->series);
	*x = (struct lineup){.name = name, .bench = bench};
	return x;
}

/* Of several runs, and of a rank that had nothing to say, the most. */
static void add(struct summary *s, struct lineup *x, const struct figure *c)
{
	for (size_t i = x ? x->cells.n : 0; i--;) {
		struct figure *known = &x->cells.v[i];

		if (known->bytes == c->bytes && streq(known->who, c->who)) {
			known->gbps = fmax(known->gbps, c->gbps);
			return;
		}
		if (i + SIZES_MOST * 8 < x->cells.n)
			break; /* a node's are together */
	}
	/* of a collective 0 is what its other ranks say; of a copy it is what it had */
	if (x && c->gbps >= (starts_with(x->bench, "mem-bw") ? 0 : DBL_MIN) && c->gbps < 1e9)
		*LIST_ADD(s->a, &x->cells) = *c;
}

/* "allreduce_8589934592_busbw", "allreduce_0_3:8589934592_busbw" of the third pair of nodes. */
static void take_nccl(struct summary *s, const char *bench, const char *metric, double v)
{
	const char *end = strstr(metric, "_busbw"), *size = end;
	char *op;
	struct figure c = {.who = s->node, .gbps = v};
	size_t n;

	if (!end || (end[strlen("_busbw")] && end[strlen("_busbw")] != ':'))
		return;
	while (size > metric && isdigit((unsigned char)size[-1]))
		size--;
	if (size == end || size - metric < 2)
		return;
	c.bytes = strtod(size, NULL);
	op = arena_strndup(s->a, metric, (size_t)(size - 1 - metric));
	n = strcspn(op, "_0123456789");
	if (size[-1] == ':' && op[n] == '_')
		c.who = arena_printf(s->a, "group %s", op + n + 1);
	op[n] = '\0';
	add(s, series_of(s, bench, op), &c);
}

/* "h2d_bw:3" */
static void take_memory(struct summary *s, const char *bench, const char *metric, double v)
{
	struct figure c = {.who = s->node, .gbps = v};
	const char *rank = strchr(metric, ':');
	const char *way = starts_with(metric, "h2d_bw")	  ? "h2d"
			  : starts_with(metric, "d2h_bw") ? "d2h"
							  : NULL;

	if (!way)
		return;
	if (rank)
		c.who = arena_printf(s->a, "%s%sGPU %s", s->node, *s->node ? " " : "", rank + 1);
	add(s, series_of(s, bench, way), &c);
}

static void take_code(struct summary *s, const char *bench, double code)
{
	struct failure *f;

	if (code == 0)
		return;
	for (size_t i = 0; i < s->failures.n; i++)
		if (streq(s->failures.v[i].bench, bench)) {
			s->failures.v[i].nodes++;
			return;
		}
	f = LIST_ADD(s->a, &s->failures);
	*f = (struct failure){.bench = bench,
			      .words = arena_printf(s->a, "%s ended with return_code %g%s%s", bench,
						    code, *s->node ? " on " : "", s->node)};
	f->nodes = 1;
}

static void take_metric(struct summary *s, const cJSON *o)
{
	const char *slash = o->string ? strchr(o->string, '/') : NULL, *metric, *bench;

	if (!slash || !cJSON_IsNumber(o))
		return;
	bench = arena_strndup(s->a, o->string, (size_t)(slash - o->string));
	metric = strrchr(slash, '/') + 1;
	if (starts_with(metric, "return_code"))
		take_code(s, bench, o->valuedouble);
	else if (starts_with(bench, "nccl-bw") || starts_with(bench, "rccl-bw"))
		take_nccl(s, bench, metric, o->valuedouble);
	else if (starts_with(bench, "mem-bw"))
		take_memory(s, bench, metric, o->valuedouble);
}

/* --- all nodes of a series ------------------------------------------------------------------ */

static double median_at(const struct lineup *x, double bytes, double *room, struct arena *a)
{
	size_t n = 0;

	for (size_t i = 0; i < x->cells.n; i++)
		if (x->cells.v[i].bytes == bytes)
			room[n++] = x->cells.v[i].gbps;
	return slow_median(room, n, a);
}

static const char *failure_of(struct summary *s, const char *bench)
{
	for (size_t i = 0; i < s->failures.n; i++) {
		struct failure *f = &s->failures.v[i];

		if (f->is_told || !streq(f->bench, bench))
			continue;
		f->is_told = true;
		return f->nodes == 1
			       ? f->words
			       : arena_printf(s->a, "%s, and %d more", f->words, f->nodes - 1);
	}
	return NULL;
}

/* All sizes as a course, and who had what at the largest. */
static void add_series(struct summary *s, const struct lineup *x, saved_list *ret)
{
	size_t n = x->cells.n, sizes = 0, at = ret->n;
	double *v = arena_alloc(s->a, (n + 1) * sizeof(*v)), most = 0;
	double *room = arena_alloc(s->a, (n + 1) * sizeof(*room));
	const char **names = arena_alloc(s->a, (n + 1) * sizeof(*names));
	bool is_host = starts_with(x->bench, "mem-bw");
	struct peers p = {.kind = is_host ? PEERS_HOST : PEERS_NODES,
			  .test = x->name,
			  .rows = 1,
			  .gbps = v,
			  .names = names,
			  .failure = failure_of(s, x->bench)};

	for (size_t i = 0; i < n; i++)
		most = fmax(most, x->cells.v[i].bytes);
	for (size_t i = 0; i < n; i++)
		if (x->cells.v[i].bytes == most) {
			names[p.cols] = x->cells.v[i].who;
			v[p.cols++] = x->cells.v[i].gbps;
		}
	p.bytes = most;
	peers_add(&p, s->a, ret);
	ret->v[at].run.points.n = 0;
	for (double last = -1; sizes < SIZES_MOST; sizes++) { /* by size, the next larger one */
		double next = INFINITY;

		for (size_t i = 0; i < n; i++)
			if (x->cells.v[i].bytes > last)
				next = fmin(next, x->cells.v[i].bytes);
		if (isinf(next))
			break;
		saved_point(&ret->v[at], s->a, next, median_at(x, next, room, s->a), 0, 0);
		last = next;
	}
}

/* --- its lines ------------------------------------------------------------------------------ */

/* Python's NaN and Infinity, which are no JSON, become null. */
static const char *mended(const char *text, size_t n, struct arena *a)
{
	static const char *const words[] = {"NaN", "-Infinity", "Infinity"};
	struct text t;
	bool quoted = false;

	text_init(&t, a);
	for (size_t i = 0, skip; i < n; i += skip) {
		skip = 1;
		for (size_t k = 0; !quoted && k < ARRAY_LEN(words) && skip == 1; k++)
			if (starts_with(text + i, words[k]))
				skip = strlen(words[k]);
		if (skip > 1)
			text_add(&t, "null");
		else
			text_addn(&t, text + i, skip = quoted && text[i] == '\\' ? 2 : 1);
		quoted ^= text[i] == '"';
	}
	return t.s;
}

/* One object, of a line or of several; 0: none could be read. */
static size_t take_object(struct summary *s, const char *text, size_t n)
{
	/* looking far behind lines that cannot be read; and what a node says, at most */
	enum { PATIENCE = 16, MENDED_MAX = 4 << 20 };
	const size_t line = strcspn(text, "\n");
	size_t span = json_span(text, line, DEPTH);
	struct err ignored = {0};
	const cJSON *o;
	cJSON *doc;

	if (!span && s->unread < PATIENCE)
		span = json_span(text, n, DEPTH);
	doc = span ? json_parse(text, span, DEPTH, &ignored) : NULL;
	if (span && span <= MENDED_MAX && !doc) {
		const char *copy = mended(text, span, s->a);

		doc = json_parse(copy, strlen(copy), DEPTH, &ignored);
	}
	if (!doc)
		return 0;
	s->node = arena_strdup(s->a, json_text(doc, "node"));
	cJSON_ArrayForEach (o, doc)
		take_metric(s, o);
	cJSON_Delete(doc);
	return span;
}

static void take_lines(struct summary *s, const char *text, size_t n)
{
	for (size_t took; n; text += took, n -= took) {
		took = strspn(text, " \t\r\n");
		if (took)
			continue;
		took = *text == '{' ? take_object(s, text, n) : 0;
		if (took)
			continue;
		s->unread += *text == '{';
		took = strcspn(text, "\n");
	}
}

/* Of what left no series. */
static void tell_others(struct summary *s, str_list *ret)
{
	for (size_t i = 0; i < s->failures.n; i++) {
		const char *words = failure_of(s, s->failures.v[i].bench);

		if (words)
			*LIST_ADD(s->a, ret) = words;
	}
}

bool peers_superbench(const char *text, size_t n, struct arena *a, saved_list *ret)
{
	struct summary s = {.a = a};
	size_t before = ret->n;
	struct peers last = {0};

	take_lines(&s, text, strnlen(text, n));
	for (size_t i = 0; i < s.series.n; i++)
		if (s.series.v[i].cells.n)
			add_series(&s, &s.series.v[i], ret);
	for (size_t i = 0; i < s.failures.n && ret->n == before; i++)
		saved_begin(ret, a)->failure = failure_of(&s, s.failures.v[i].bench);
	if (ret->n == before || !ret->v[ret->n - 1].peers)
		return ret->n > before;
	last = *ret->v[ret->n - 1].peers;
	last.unread = s.unread;
	tell_others(&s, &last.others);
	*(struct peers *)ret->v[ret->n - 1].peers = last;
	return true;
}
