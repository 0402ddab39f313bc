#include "bench/sweep/table.h"

#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/core/version.h"
#include "lib/report/grid.h"
#include "lib/report/json.h"

#include <math.h>
#include <time.h>

/* Nothing when quiet; it was answered all the same. */
static void say(struct report *r, const struct text *t)
{
	bool quiet = report_is_quiet(r);

	report_answer(r, quiet ? "" : t->s, quiet ? 0 : t->n);
}

void table_note(struct report *r, const char *fmt, ...)
{
	struct text t;
	va_list ap;

	text_init(&t, report_arena(r));
	va_start(ap, fmt);
	text_addf(&t, "# %s\n", arena_vprintf(report_arena(r), fmt, ap));
	va_end(ap);
	say(r, &t);
}

static void devices(struct text *t, const struct story *s)
{
	text_add(t, "# Using devices\n");
	for (size_t i = 0; i < s->ranks.n; i++) {
		const struct bench_rank *p = &s->ranks.v[i];

		text_addf(t, "#  Rank %2zu Group %2d Pid %6d on %10s device %2d [%s] %s\n", i,
			  p->group, p->pid, grid_shown(s->a, p->host), p->gpu, p->bus ?: p->address,
			  p->device);
	}
}

static void head(struct text *t, const struct story_opts *o)
{
	const char *stamp = o->timestamps ? "            timestamp" : "";
	const char *format = o->timestamps ? "  %Y-%m-%d %H:%M:%S" : "";
	const char *wire = o->wire_rate ? "   wire   iwire" : "";
	const char *rate = o->wire_rate ? " (GB/s)  (GB/s)" : "";
	const char *time = o->sweep.cpu_time ? "cputime" : "time";
	const char *extra = o->per_iter ? "    i_min    i_max    i_p99    i_cv%" : "";
	const char *units = o->per_iter ? "     (us)     (us)     (us)      (%)" : "";

	text_add(t, "#\n");
	text_addf(t, "# %10s  %12s  %8s  %6s  %6s", "", "", "", "", "");
	text_add(t, o->per_iter
			    ? "              out-of-place (+ per-iteration)                    "
			      "            in-place (+ per-iteration)\n"
			    : "           out-of-place                       in-place          \n");
	text_addf(t,
		  "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s%s  %7s  %6s  %6s  %6s%s %s%s\n",
		  "size", "count", "type", "redop", "root", time, "algbw", "busbw", "#wrong", extra,
		  time, "algbw", "busbw", "#wrong", extra, wire, stamp);
	text_addf(t,
		  "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s%s  %7s  %6s  %6s  %6s%s %s%s\n",
		  "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", units, "(us)",
		  "(GB/s)", "(GB/s)", "", units, rate, format);
}

static void intro(struct text *t, const struct story *s)
{
	text_addf(t, "# ncclbench %s: %s over %s, %s\n", WINDSOCK_VERSION, s->device, s->backend,
		  s->transport);
	for (size_t i = 0; i < s->notes.n; i++)
		text_addf(t, "# %s\n", s->notes.v[i]);
}

void table_intro(struct story *s)
{
	struct text t;

	text_init(&t, s->a);
	intro(&t, s);
	say(s->r, &t);
}

void table_begin(struct story *story)
{
	const struct sweep_opts *s = &story->sweep;
	struct text t;

	text_init(&t, story->a);
	intro(&t, story);
	text_addf(&t, "# Collective test starting: %s_perf\n", s->coll->name);
	text_addf(&t,
		  "# nThread 1 nGpus 1 minBytes %zu maxBytes %zu step: %zu(%s) warmup iters: %zu "
		  "iters: %zu agg iters: %zu validation: %zu graph: %zu unalign: %zu\n#\n",
		  (size_t)s->min, (size_t)s->max, (size_t)(s->factor ? s->factor : s->step),
		  s->factor ? "factor" : "bytes", (size_t)s->warmup, (size_t)s->iters,
		  (size_t)s->aggregate, (size_t)s->check, (size_t)s->graph, (size_t)s->unalign);
	devices(&t, story);
	head(&t, story->o);
	say(story->r, &t);
}

/* As many decimals as fit into @width characters. */
static const char *fit(double value, int width, char buf[16])
{
	for (int decimals = 2; decimals >= 0; decimals--)
		if (snprintf(buf, 16, "%*.*f", width, decimals, value) <= width)
			return buf;
	(void)snprintf(buf, 16, "%*.*e", width, width >= 7, value);
	return buf;
}

static void half(struct text *t, const struct measurement *m, bool per_iter)
{
	char time[16], alg[16], bus[16], low[16], high[16], p99[16], cv[16];

	text_addf(t, "  %7s  %6s  %6s", fit(m->shown * 1e6, 7, time), fit(m->algbw, 6, alg),
		  fit(m->busbw, 6, bus));
	if (m->wrong < 0)
		text_add(t, "    N/A");
	else
		text_addf(t, "  %6g", (double)m->wrong);
	if (per_iter)
		text_addf(t, "  %7s  %7s  %7s  %7s", fit(m->min * 1e6, 7, low),
			  fit(m->max * 1e6, 7, high), fit(m->p99 * 1e6, 7, p99),
			  fit(m->mean > 0 ? m->deviation / m->mean * 100 : 0, 7, cv));
}

/* What the busiest rank sent, out of place and in place. */
static void wire(struct text *t, const struct sweep_row *row)
{
	const double v[] = {row->out.wire, row->in.wire};
	char buf[16];

	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		text_addf(t, "  %6s", isnan(v[i]) ? "-" : fit(v[i], 6, buf));
}

static void add_ranks(cJSON *result, const struct measurement *m, size_t ranks)
{
	cJSON *list = m->rank_s ? json_array(result, "rank_us") : NULL;

	for (size_t i = 0; m->rank_s && i < ranks; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(m->rank_s[i] * 1e6));
	list = m->waited ? json_array(result, "rank_waited_for") : NULL;
	for (size_t i = 0; m->waited && i < ranks; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(m->waited[i]));
}

static void add_json(struct report *r, const struct sweep_row *row, const struct measurement *m,
		     bool in_place, bool cpu)
{
	const struct coll_case *c = row->c;
	cJSON *results = cJSON_GetObjectItem(report_data(r), "results");
	cJSON *o = json_push_object(results ? results : json_array(report_data(r), "results"));

	json_str(o, "coll", c->coll->name);
	json_num(o, "size", (double)coll_bytes(c));
	json_num(o, "count", (double)c->sizes.count);
	json_str(o, "dtype", dtype_name(c->type));
	json_str(o, "redop", c->coll->reduces ? redop_name(c->op) : NULL);
	json_num(o, "root", c->coll->rooted ? c->root : NAN);
	json_num(o, "time_us", m->seconds * 1e6);
	json_num(o, "cpu_time_us", cpu ? m->shown * 1e6 : NAN);
	json_num(o, "algbw", m->algbw);
	json_num(o, "busbw", m->busbw);
	json_num(o, "p50_us", m->p50 * 1e6);
	json_num(o, "p99_us", m->p99 * 1e6);
	json_num(o, "wrong", m->wrong < 0 ? NAN : (double)m->wrong);
	json_bool(o, "in_place", in_place);
	json_num(o, "wire", m->wire);
	if (m->rows) {
		json_num(o, "rows", (double)m->rows);
		json_num(o, "busbw_min", m->least);
		json_num(o, "busbw_p50", m->median);
		json_num(o, "busbw_max", m->most);
	}
	add_ranks(o, m, (size_t)(row->all ? row->all : c->ranks));
}

static void stamp(struct text *t)
{
	time_t now = time(NULL);
	char buf[32] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		(void)strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S", &tm);
	text_addf(t, "%21s", buf);
}

void table_row(struct story *s, const struct sweep_row *row)
{
	const struct story_opts *o = s->o;
	struct report *r = s->r;
	const struct coll_case *c = row->c;
	AUTO(arena_done) struct arena a = {0}; /* of -N 0 there is no end of rows */
	struct text t;

	text_init(&t, &a);
	text_addf(&t, "%12zu  %12zu  %8s  %6s  %6d", coll_bytes(c), c->sizes.count,
		  dtype_name(c->type), c->coll->reduces ? redop_name(c->op) : "none",
		  c->coll->rooted ? c->root : -1);
	half(&t, &row->out, o->per_iter);
	half(&t, &row->in, o->per_iter);
	if (o->wire_rate)
		wire(&t, row);
	if (o->timestamps)
		stamp(&t);
	text_add(&t, "\n");
	say(r, &t);
	if (!s->sweep.cycles && report_is_lost(r)) /* until stopped, and no row will be seen */
		interrupt_unread();
	if (!report_wants_data(r))
		return;
	add_json(r, row, &row->out, false, s->sweep.cpu_time);
	add_json(r, row, &row->in, true, s->sweep.cpu_time);
}

void table_end(struct story *s)
{
	const struct sweep_totals *sum = &s->totals;
	struct unit_buf size;
	struct text t;

	text_init(&t, s->a);
	text_addf(&t, "# %-20s : %zu %s\n", "Out of bounds values", (size_t)sum->bad,
		  sum->bad ? "FAILED" : "OK");
	text_addf(&t, "# %-20s : %g %s\n", "Avg bus bandwidth", story_average(s),
		  !(s->o->least_average > 0)   ? ""
		  : story_average_is_enough(s) ? "OK"
					       : "FAILED");
	if (s->o->memory)
		text_addf(&t, "# %-20s : %s\n", "Memory per rank",
			  format_size(&size, sweep_memory(s->sweep.max)));
	text_add(&t, "#\n");
	if (!s->ended_by)
		text_addf(&t, "# Collective test concluded: %s_perf\n", s->sweep.coll->name);
	say(s->r, &t);
}
