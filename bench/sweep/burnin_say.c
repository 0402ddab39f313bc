/* What a burn-in says in the end: when things happened, how each size went, and what sank. */
#include "bench/sweep/burnin.h"

#include "bench/sweep/drift.h"
#include "bench/sweep/straggler.h"
#include "bench/sweep/table.h"
#include "bench/sweep/verdict.h"
#include "lib/core/stats.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>
#include <time.h>

/* Smaller ones have latency, not bandwidth. */
enum { LARGE = 1 << 20, PARTS = 10, SHOWN = 8 /* lines of single sizes */ };
/* What noise does not reach: between hosts; and where processors and memory are shared by all. */
static const double LIMIT = 0.1, LIMIT_HOST = 0.25;
/* The share of the time that a rank is waited for who became slow, and how much it rose. */
static const double SHARE = 0.5, RISE = 0.3;
static const double SHORT_S = 3 * DRIFT_SETTLE_S; /* hardly any of it counts */

/* --- when ----------------------------------------------------------------------------------- */

const char *burnin_when(const struct story *s, double at_s)
{
	double ago_s = (double)(now_ns() - s->burnin.begun_ns) / 1e9 - at_s;
	time_t then = time(NULL) - (time_t)ago_s;
	struct unit_buf after;
	char clock[32] = "";
	struct tm tm;

	if (localtime_r(&then, &tm))
		(void)strftime(clock, sizeof(clock), " (%Y-%m-%d %H:%M:%S)", &tm);
	return arena_printf(s->a, "%s after the start%s",
			    format_duration(&after, (uint64_t)(at_s * 1e9)), clock);
}

const char *burnin_lost(const struct story *s, const char *message)
{
	const struct burnin *b = &s->burnin;

	if (!b->begun_ns || !b->lost_ns)
		return message;
	return arena_printf(s->a, "%s; %s", message,
			    burnin_when(s, (double)(b->lost_ns - b->begun_ns) / 1e9));
}

const char *burnin_wrong(const struct story *s)
{
	const struct burnin *b = &s->burnin;

	if (!b->wrong_row)
		return NULL;
	return arena_printf(s->a, "the first in cycle %zu, %s",
			    (size_t)((b->wrong_row - 1) / (b->per_cycle ?: 1) + 1),
			    burnin_when(s, b->wrong_s));
}

/* --- how each size went ---------------------------------------------------------------------- */

static void show(const struct story *s, const struct course *c)
{
	double v[PARTS][COURSE_POINTS], from = c->points[0].at_s,
					took = c->points[c->npoints - 1].at_s - from;
	size_t n[PARTS] = {0};
	struct unit_buf size;
	struct text t;

	for (size_t i = 0; i < c->npoints; i++) {
		double at = took > 0 ? (c->points[i].at_s - from) / took * PARTS : 0;
		size_t part = at < PARTS ? (size_t)at : PARTS - 1;

		v[part][n[part]++] = course_busbw(&c->points[i]);
	}
	text_init(&t, s->a);
	for (size_t i = 0; i < PARTS; i++)
		if (n[i])
			text_addf(&t, " %.3g", median(v[i], n[i]));
		else
			text_add(&t, " -");
	table_note(s->r, "%s, each tenth of the time:%s GB/s; lowest %.3g, highest %.3g",
		   format_size(&size, coll_bytes(&c->c)), t.s, c->least, c->most);
}

static void put_course(cJSON *list, const struct course *c)
{
	cJSON *o = json_push_object(list), *points;

	json_num(o, "size", (double)coll_bytes(&c->c));
	json_str(o, "dtype", dtype_name(c->c.type));
	json_str(o, "redop", c->c.coll->reduces ? redop_name(c->c.op) : NULL);
	json_num(o, "root", c->c.coll->rooted ? c->c.root : NAN);
	json_num(o, "rows", (double)c->rows);
	points = json_array(o, "points");
	for (size_t i = 0; i < c->npoints; i++) {
		cJSON *point = cJSON_CreateArray();

		cJSON_AddItemToArray(point, cJSON_CreateNumber(c->points[i].at_s));
		cJSON_AddItemToArray(point, cJSON_CreateNumber(course_busbw(&c->points[i])));
		cJSON_AddItemToArray(points, point);
	}
}

static void put_data(const struct story *s)
{
	const struct burnin *b = &s->burnin;
	cJSON *o = json_object(report_data(s->r), "course"), *stalls, *sizes;

	json_num(o, "for_s", (double)s->sweep.for_ns / 1e9);
	json_num(o, "seconds", b->latest_s);
	json_num(o, "cycles", (double)burnin_cycles(b));
	stalls = json_array(o, "stalls");
	for (size_t i = 0; i < b->stalls.n && i < STALLS_KEPT; i++) {
		cJSON *stall = json_push_object(stalls);

		json_num(stall, "until_s", b->stalls.kept[i].at_s);
		json_num(stall, "seconds", b->stalls.kept[i].seconds);
	}
	sizes = json_array(o, "sizes");
	for (size_t i = 0; i < b->courses.n; i++)
		put_course(sizes, b->courses.v[i]);
}

/* --- what sank ------------------------------------------------------------------------------ */

struct drifts { /* of all large sizes */
	size_t large, kinds[DRIFT_SUNK + 1];
	const struct course *of; /* of the gravest kind, the one that lost most */
	struct drift worst;
	const char *sunk; /* "64 MiB, 256 MiB" */
};

static bool is_local(const struct story *s) { return story_hosts(s) < 2; }

static bool has_gpus(const struct story *s)
{
	return s->ranks.n && strstr(s->ranks.v[0].device, "NVIDIA");
}

static double limit_of(const struct story *s)
{
	return is_local(s) && !has_gpus(s) ? LIMIT_HOST : LIMIT;
}

static void look(const struct story *s, struct drifts *ret)
{
	const struct burnin *b = &s->burnin;
	struct unit_buf size;

	*ret = (struct drifts){.sunk = ""};
	for (size_t i = 0; i < b->courses.n; i++) {
		const struct course *c = b->courses.v[i];
		struct drift d;

		if (coll_bytes(&c->c) < LARGE)
			continue;
		drift_find(c, limit_of(s), &d);
		ret->large++;
		ret->kinds[d.kind]++;
		if (d.kind == DRIFT_SUNK)
			ret->sunk = arena_printf(s->a, "%s%s%s", ret->sunk, *ret->sunk ? ", " : "",
						 format_size(&size, coll_bytes(&c->c)));
		if (ret->of && (d.kind < ret->worst.kind ||
				(d.kind == ret->worst.kind && d.share <= ret->worst.share)))
			continue;
		ret->of = c;
		ret->worst = d;
	}
}

/* Whose share rose most, and so much that it is no chance; else -1. */
static int who_rose(const struct story *s, const double *before, const double *after)
{
	double most = 0, next = 0;
	int who = -1;

	for (size_t p = 0; p < s->ranks.n; p++) {
		double rise = after[p] - before[p];

		next = fmax(next, fmin(rise, most));
		if (rise <= most)
			continue;
		most = rise;
		who = (int)p;
	}
	return most >= RISE && next <= most / 2 && after[who] >= SHARE ? who : -1;
}

/* Who is waited for since then, and was not before; "" where nobody can tell. */
static const char *whom(const struct story *s, double since_s)
{
	double *before = arena_alloc(s->a, (s->ranks.n + 1) * sizeof(*before));
	double *after = arena_alloc(s->a, (s->ranks.n + 1) * sizeof(*after)), took;
	double at = since_s / ((double)s->sweep.for_ns / 1e9) * BURNIN_BINS;
	size_t bin = at < BURNIN_BINS - 1 ? (size_t)at : BURNIN_BINS - 1;
	const struct bench_rank *r;
	struct straggler x;
	int who;

	if (!(burnin_waited(s, 0, bin, before) > 0))
		return ""; /* nobody knows how it was */
	took = burnin_waited(s, bin + 1 < BURNIN_BINS ? bin + 1 : bin, BURNIN_BINS, after);
	who = straggler_find(s, after, took, &x) ? who_rose(s, before, after) : -1;
	if (who < 0)
		return "";
	r = &s->ranks.v[who];
	return arena_printf(s->a,
			    "; since then the others wait for rank %d (%s, %s) %.0f %% of the "
			    "time, before %.0f %%",
			    who, r->host, r->address, after[who] * 100, before[who] * 100);
}

static void where_to_look(const struct story *s, struct finding *f)
{
	if (has_gpus(s))
		finding_fix(f, "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE  # on each host: "
			       "heat, lowered clocks");
	else
		finding_fix(f, "grep MHz /proc/cpuinfo; uptime  # on each host: heat, lowered "
			       "clocks, other work");
	if (is_local(s))
		return;
	finding_fix(f, "ip -s -s link; rdma statistic show  # on each host, twice: do errors of a "
		       "port grow (the cable)?");
	again_fix(f, &s->o->again, "--find-slow", "while it is slow: the node, or a link");
}

static void say_sunk(const struct story *s, struct finding *f, const struct drifts *d)
{
	const struct drift *w = &d->worst;
	struct unit_buf size;

	finding_set(f, ST_WARN,
		    "bus bandwidth at %s sank by %.0f %% since %s: %.3g GB/s in the last fifth of "
		    "the time, %.3g in its best%s%s%s",
		    format_size(&size, coll_bytes(&d->of->c)), w->share * 100,
		    burnin_when(s, w->since_s), w->last, w->best, whom(s, w->since_s),
		    d->kinds[DRIFT_SUNK] > 1 ? "; all that sank: " : "",
		    d->kinds[DRIFT_SUNK] > 1 ? d->sunk : "");
	where_to_look(s, f);
}

static void say_else(const struct story *s, struct finding *f, const struct drifts *d)
{
	const struct drift *w = &d->worst;
	const double limit = limit_of(s);
	struct unit_buf b;
	const char *size = d->of ? format_size(&b, coll_bytes(&d->of->c)) : "";

	if (!d->large)
		finding_set(f, ST_INFO, "whether bandwidth sank is judged by sizes from 1 MiB on");
	else if (!(d->of->most > 0))
		finding_set(f, ST_INFO, "one rank alone has no bandwidth that could sink");
	else if (w->kind == DRIFT_UNKNOWN && s->burnin.latest_s < SHORT_S)
		finding_set(f, ST_INFO,
			    "too short to know whether bandwidth sank: the first %d s do not "
			    "count: --for 30s",
			    DRIFT_SETTLE_S);
	else if (w->kind == DRIFT_UNKNOWN)
		finding_set(
			f, ST_INFO,
			"too few rows to know whether bandwidth sank, %zu of %s in all: it takes "
			"%d in the last fifth of the time, and in another: give it longer, or "
			"fewer or smaller sizes (-e), or fewer iterations (-n)",
			(size_t)d->of->rows, size, DRIFT_LEAST_ROWS);
	else if (w->kind == DRIFT_BUSY)
		finding_set(f, ST_INFO,
			    "bus bandwidth at %s sank by %.0f %% (%.3g GB/s in the last fifth of "
			    "the time, %.3g in its best), while ranks wanted processors and others "
			    "had them: that is other work, and no network",
			    size, w->share * 100, w->last, w->best);
	else if (w->share > limit)
		finding_set(
			f, ST_PASS,
			"bandwidth varies and did not sink for good: at %s the last fifth of "
			"the time has %.0f %% of the best (%.3g of %.3g GB/s), and rows as fast "
			"as those",
			size, (1 - w->share) * 100, w->last, w->best);
	else
		finding_set(f, ST_PASS,
			    "bandwidth did not sink: at %s the last fifth of the time has %.0f %% "
			    "of the best (%.3g of %.3g GB/s)",
			    size, (1 - w->share) * 100, w->last, w->best);
}

static void judge(const struct story *s)
{
	struct finding *f = report_find(s->r, "coll.drift", s->sweep.coll->name);
	struct drifts d;

	look(s, &d);
	if (d.worst.kind != DRIFT_UNKNOWN)
		finding_value(f, d.worst.share * 100, "%");
	finding_expect(f, "the last fifth of the time is not %.0f %% below the best",
		       limit_of(s) * 100);
	if (d.worst.kind == DRIFT_SUNK)
		say_sunk(s, f, &d);
	else
		say_else(s, f, &d);
	verdict_add(s->r, f);
}

void burnin_verdict(const struct story *s)
{
	const struct burnin *b = &s->burnin;
	struct unit_buf time;
	size_t shown = 0;

	if (!b->rows)
		return;
	table_note(s->r, "Burn-in: %zu whole cycles, %zu rows in %s", (size_t)burnin_cycles(b),
		   (size_t)b->rows, format_duration(&time, (uint64_t)(b->latest_s * 1e9)));
	if (b->rows < b->per_cycle)
		table_note(s->r, "%zu of %zu sizes were not measured at all%s",
			   (size_t)(b->per_cycle - b->rows), (size_t)b->per_cycle,
			   b->latest_s * 1e9 < (double)s->sweep.for_ns
				   ? ""
				   : ": give it longer, or a smaller -e");
	for (size_t i = b->courses.n; i-- && shown < SHOWN;)
		if (coll_bytes(&b->courses.v[i]->c) >= LARGE && ++shown)
			show(s, b->courses.v[i]);
	if (report_wants_data(s->r))
		put_data(s);
	judge(s);
	stall_verdict(s);
}
