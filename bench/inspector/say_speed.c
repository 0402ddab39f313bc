#include "bench/inspector/say.h"
#include "bench/sweep/expect.h"
#include "bench/sweep/instances.h"
#include "lib/core/stats.h"
#include "lib/core/units.h"

#include <math.h>

/* --- the table: communicators of one shape together ---------------------------------------- */

enum { ROWS_MAX = 40 };

static int by_row(const void *a, const void *b)
{
	const struct insp_stat *const *px = a, *const *py = b, *x = *px, *y = *py;

	if (x->c->ranks != y->c->ranks)
		return x->c->ranks > y->c->ranks ? -1 : 1;
	if (x->c->hosts != y->c->hosts)
		return x->c->hosts > y->c->hosts ? -1 : 1;
	if (x->g->func != y->g->func)
		return x->g->func < y->g->func ? -1 : 1;
	return (x->g->size_class > y->g->size_class) - (x->g->size_class < y->g->size_class);
}

const struct insp_stat **insp_say_order(const struct insp_say *s)
{
	const struct insp_stat **v = arena_alloc(s->a, (s->stats.n + 1) * sizeof(*v));

	for (size_t i = 0; i < s->stats.n; i++)
		v[i] = &s->stats.v[i];
	qsort(v, s->stats.n, sizeof(*v), by_row);
	return v;
}

size_t insp_say_row(const struct insp_say *s, const struct insp_stat *const *v, size_t i)
{
	size_t n = 1;

	while (i + n < s->stats.n && !by_row(&v[i], &v[i + n]))
		n++;
	return n;
}

struct row {
	double *v, lines, bytes, us, waited, weight;
	size_t n;
};

static void add_up(const struct insp_say *s, const struct insp_stat *const *v, size_t n,
		   struct row *ret)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += v[i]->n;
	*ret = (struct row){.v = arena_alloc(s->a, (all + 1) * sizeof(double))};
	for (size_t i = 0; i < n; i++) {
		if (v[i]->n)
			memcpy(ret->v + ret->n, v[i]->v, v[i]->n * sizeof(double));
		ret->n += v[i]->n;
		ret->lines += (double)v[i]->g->n;
		ret->bytes += v[i]->g->sum_bytes;
		ret->us += v[i]->g->sum_us;
		if (isnan(v[i]->waited))
			continue;
		ret->waited += v[i]->waited * v[i]->g->sum_us;
		ret->weight += v[i]->g->sum_us;
	}
	sort_doubles(ret->v, ret->n);
}

static void show_row(const struct insp_say *s, const struct insp_stat *const *v, size_t n,
		     double total_us)
{
	struct unit_buf size;
	struct row r;

	add_up(s, v, n, &r);
	report_row(s->r,
		   (struct cell[]){
			   {insp_say_shape(s, v[0]->c), NAN},
			   {NULL, (double)n},
			   {insp_func_names[v[0]->g->func], NAN},
			   {arena_strdup(s->a, format_size(&size, (uint64_t)(r.bytes / r.lines))),
			    NAN},
			   {NULL, r.lines},
			   {NULL, sorted_quantile(r.v, r.n, 0.1)},
			   {NULL, sorted_quantile(r.v, r.n, 0.5)},
			   {NULL, sorted_quantile(r.v, r.n, 0.9)},
			   {NULL, total_us > 0 ? r.us / total_us * 100 : NAN},
			   {NULL, r.weight > 0 ? r.waited / r.weight * 100 : NAN}});
}

void insp_say_table(const struct insp_say *s)
{
	static const struct column columns[] = {
		{.name = "ranks", .is_text = true},
		{.name = "communicators"},
		{.name = "collective", .is_text = true},
		{.name = "size", .is_text = true, .right = true},
		{.name = "lines"},
		{.name = "p10", .unit = "GB/s", .decimals = 1},
		{.name = "median", .unit = "GB/s", .decimals = 1},
		{.name = "p90", .unit = "GB/s", .decimals = 1},
		{.name = "of the time", .unit = "%", .decimals = 1},
		{.name = "waited", .unit = "%", .decimals = 0},
	};
	static const struct series series = {"recorded", columns, ARRAY_LEN(columns), .view = true};
	const struct insp_stat **v = insp_say_order(s);
	double total_us = 0;
	size_t rows = 0, left_out = 0;

	for (size_t i = 0; i < s->stats.n; i++)
		total_us += v[i]->g->sum_us;
	report_series(s->r, &series);
	for (size_t i = 0, n; i < s->stats.n; i += n) {
		n = insp_say_row(s, v, i);
		if (rows++ < ROWS_MAX)
			show_row(s, v + i, n, total_us);
		else
			left_out++;
	}
	if (left_out)
		report_remark(s->r, "%zu more rows are in --json.", left_out);
}

/* --- is it normal --------------------------------------------------------------------------------
 */

static void derive(const struct insp_say *s, const struct insp_comm *c, struct expect *ret)
{
	struct expect_facts f = {
		.backend = "nccl",
		.coll = "all_reduce",
		.gpu = instance_gpu(s->o->instance),
		/* what was told of the cards goes before what is known of a type */
		.instance = s->o->nic_gbps > 0 ? NULL : s->o->instance,
		.ranks = (int)c->ranks,
		.hosts = (int)c->hosts,
		.gpus = (int)s->per_host,
		.nic_gbps = s->o->nic_gbps};
	uint32_t each = c->ranks / c->hosts;

	expect_derive(&f, s->a, ret);
	if (!isfinite(ret->busbw) && c->hosts == 1)
		ret->why = s->o->instance ? "one host, and this type's GPU is not in the table"
					  : "one host, and its GPU is not recorded: --instance";
	/* the other GPUs use the cards at the same time, in communicators like this one */
	if (c->hosts > 1 && isfinite(ret->busbw) && each < s->per_host) {
		expect_divide(ret, (double)each / s->per_host);
		ret->why = arena_printf(s->a, "%s; %u of a host's %u GPUs: %.3g GB/s", ret->why,
					each, s->per_host, ret->asked);
	}
	/* Limits are of benchmarks; a training's collectives have the GPUs' memory and processors
	 * together with its computing, which may cost them half. */
	ret->fail /= 2;
	if (s->o->expect_share > 0)
		ret->warn = ret->fail = s->o->expect_share;
}

struct verdict {
	const struct insp_stat *t;
	struct expect x;
	enum status status;
	double share, reached;
	const char *doubt;
};

static void judge(const struct insp_say *s, const struct insp_stat *t, const struct expect *x,
		  struct verdict *ret)
{
	double asked = s->o->expect_gbps, share;

	*ret = (struct verdict){.t = t, .x = *x, .status = ST_INFO, .share = NAN};
	ret->reached = isfinite(x->busbw) ? expect_share(x, (uint64_t)t->bytes) : 0;
	ret->doubt = expect_doubt(x, t->median, s->a);
	share = t->median / (x->asked * ret->reached);
	if (asked > 0)
		ret->status = t->median < asked ? ST_FAIL : ST_PASS;
	else if (s->o->expect_share > 0 && isnan(x->busbw))
		ret->status = ST_ERROR;
	else if (!(ret->reached > 0))
		return;
	else
		ret->status = ret->doubt	? ST_WARN
			      : share < x->fail ? ST_FAIL
			      : share < x->warn ? ST_WARN
						: ST_PASS;
	ret->share = ret->reached > 0 ? share : NAN;
	if (ret->status == ST_FAIL && !t->whole) /* waiting is in it */
		ret->status = ST_WARN;
}

/* Of one communicator's sizes the best of those that are large enough, as of a saved sweep. */
static bool is_better(const struct verdict *a, const struct verdict *than)
{
	bool large = a->reached > 0, was = than->reached > 0;

	return !than->t || large > was || (large == was && a->t->median > than->t->median);
}

static int gravity(const struct verdict *v)
{
	static const int of[ST_COUNT] = {
		[ST_INFO] = 0, [ST_PASS] = 1, [ST_WARN] = 2, [ST_FAIL] = 3, [ST_ERROR] = 4};

	return of[v->status];
}

static bool is_graver(const struct verdict *a, const struct verdict *than)
{
	if (!than->t || gravity(a) != gravity(than))
		return !than->t || gravity(a) > gravity(than);
	return a->t->median < than->t->median;
}

static void say_against(const struct insp_say *s, const struct verdict *v, struct finding *f,
			struct text *t)
{
	if (s->o->expect_gbps > 0) {
		text_addf(t, ", asked for were %.2f", s->o->expect_gbps);
		finding_expect(f, ">= %.2f GB/s", s->o->expect_gbps);
	} else if (v->status == ST_ERROR) {
		text_addf(t, "; there is nothing to take --expect PERCENT of: %s", v->x.why);
		finding_expect(f, "a bus bandwidth that can be derived");
	} else if (isnan(v->x.busbw)) {
		text_addf(t, "; not judged: %s", v->x.why);
	} else if (!(v->reached > 0)) {
		text_addf(t, ": too small to judge by (%s)", v->x.why);
	} else if (v->doubt) {
		text_addf(t, ", %s (%s)", v->doubt, v->x.why);
		finding_expect(f, "<= %.1f GB/s", v->x.busbw);
	} else {
		text_addf(t, ", %.0f %% of %s%s (%s)", v->share * 100, expect_word(&v->x),
			  v->reached < 1 ? " at that size" : "", v->x.why);
		finding_expect(f, ">= %.1f GB/s", v->x.asked * v->reached * v->x.warn);
	}
}

static void say(const struct insp_say *s, const struct verdict *v, size_t n, size_t alike)
{
	const struct insp_comm *c = v->t->c;
	const char *subject = arena_printf(s->a, "all_reduce, %s", insp_say_shape(s, c));
	struct finding *f = report_find(s->r, "coll.bandwidth", subject);
	struct unit_buf size;
	struct text t;

	text_init(&t, s->a);
	if (n > 1)
		text_addf(&t, "%zu of %zu communicators; the slowest of these, %s: ", alike, n,
			  insp_say_comm(s, c));
	text_addf(&t, "median %.2f GB/s at %s", v->t->median,
		  format_size(&size, (uint64_t)v->t->bytes));
	say_against(s, v, f, &t);
	if (!v->t->whole)
		text_add(&t, c->members < c->ranks
				     ? "; waiting for ranks whose lines are not here is in it"
				     : "; the ranks' waiting for one another is in it: few "
				       "collectives have a line of each, as before NCCL 2.30");
	finding_value(f, v->t->median, "GB/s");
	finding_set(f, v->status, "%s", t.s);
	if (v->status == ST_FAIL || v->status == ST_WARN)
		finding_fix(f, "ncclbench --hosts HOSTS -b 64M -e 4G  # slow without the training, "
			       "too? NCCL_DEBUG=INFO ... 2>&1 | ncclwhy says over which cards");
	report_add(s->r, f);
}

/* One communicator of those of a shape: @v[0..n) are its sizes and the others'. */
static void judge_shape(const struct insp_say *s, const struct insp_stat *const *v, size_t n)
{
	struct verdict *of = arena_alloc(s->a, s->b->comms.n * sizeof(*of)), worst = {0};
	struct expect x;
	size_t comms = 0, alike = 0;

	derive(s, v[0]->c, &x);
	for (size_t i = 0; i < n; i++) {
		struct verdict one, *best = &of[v[i]->g->comm];

		if (!v[i]->n)
			continue;
		judge(s, v[i], &x, &one);
		*best = is_better(&one, best) ? one : *best;
	}
	for (size_t i = 0; i < s->b->comms.n; i++) {
		comms += of[i].t != NULL;
		if (of[i].t && is_graver(&of[i], &worst))
			worst = of[i];
	}
	for (size_t i = 0; i < s->b->comms.n; i++)
		alike += of[i].t && of[i].status == worst.status;
	if (comms)
		say(s, &worst, comms, alike);
}

void insp_say_speed(const struct insp_say *s)
{
	const struct insp_stat **v = insp_say_order(s);
	size_t said = 0;

	for (size_t i = 0, n; i < s->stats.n; i += n) {
		for (n = 1;
		     i + n < s->stats.n && v[i]->c->ranks == v[i + n]->c->ranks &&
		     v[i]->c->hosts == v[i + n]->c->hosts && v[i]->g->func == v[i + n]->g->func;
		     n++)
			;
		if (v[i]->g->func != INSP_ALL_REDUCE)
			continue;
		judge_shape(s, v + i, n);
		said++;
	}
	if (!said) {
		struct finding *f = report_find(s->r, "coll.bandwidth", NULL);

		/* who expects something has to hear that it was held against nothing */
		finding_set(f, s->o->expect_gbps > 0 || s->o->expect_share > 0 ? ST_ERROR : ST_INFO,
			    "not judged: only all_reduce is, and there is none among "
			    "several ranks");
		report_add(s->r, f);
	}
}
