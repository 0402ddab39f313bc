/* The matrix of pairs, and who of them is slow. */
#include "bench/sweep/verdict.h"

#include "bench/sweep/slow.h"
#include "bench/sweep/table.h"
#include "lib/report/json.h"

#include <math.h>

struct matrix {
	const struct story *s;
	int n;
	double *gbps, *latency, *lost;
	bool one_host; /* units are ranks, not hosts */
};

static const struct bench_rank *unit(const struct matrix *m, int i)
{
	return &m->s->ranks.v[m->s->units.v[i]];
}

static const char *name_of(const struct matrix *m, int i)
{
	return m->one_host ? arena_printf(m->s->a, "rank %d", m->s->units.v[i]) : unit(m, i)->host;
}

static double *empty(const struct story *s, int n)
{
	double *v = arena_alloc(s->a, ((size_t)n * (size_t)n + 1) * sizeof(*v));

	for (int i = 0; i < n * n; i++)
		v[i] = NAN;
	return v;
}

static void fill(struct matrix *m, const struct story *s)
{
	*m = (struct matrix){.s = s, .n = (int)s->units.n};
	m->gbps = empty(s, m->n);
	m->latency = empty(s, m->n);
	m->lost = empty(s, m->n);
	m->one_host = m->n > 1 && streq(unit(m, 0)->host, unit(m, 1)->host);
	for (size_t i = 0; i < s->pairs.n; i++) {
		const struct story_pair *p = &s->pairs.v[i];
		int at = p->a * m->n + p->b;

		m->gbps[at] = p->gbps;
		m->latency[at] = p->latency_s;
		m->lost[at] = p->lost;
	}
}

/* --- the matrix ---------------------------------------------------------------------- */

static void draw(const struct matrix *m, const char *title, const double *v, double scale,
		 int decimals)
{
	struct text t;

	text_init(&t, m->s->a);
	text_addf(&t, "# %s (row to column)\n%-14s", title, "");
	for (int b = 0; b < m->n; b++)
		text_addf(&t, " %10.10s", name_of(m, b));
	for (int a = 0; a < m->n; a++) {
		text_addf(&t, "\n%-14.14s", name_of(m, a));
		for (int b = 0; b < m->n; b++)
			if (isnan(v[a * m->n + b]))
				text_addf(&t, " %10s", a == b ? "." : "-");
			else
				text_addf(&t, " %10.*f", decimals, v[a * m->n + b] * scale);
	}
	text_add(&t, "\n");
	report_answer(m->s->r, t.s, t.n);
}

static void add_data(const struct matrix *m)
{
	cJSON *pairs = json_array(report_data(m->s->r), "pairs");

	for (int a = 0; a < m->n; a++)
		for (int b = 0; b < m->n; b++) {
			cJSON *o;

			if (a == b)
				continue;
			o = json_push_object(pairs);
			json_str(o, "from", name_of(m, a));
			json_str(o, "to", name_of(m, b));
			json_num(o, "gbps", m->gbps[a * m->n + b]);
			json_num(o, "latency_us", m->latency[a * m->n + b] * 1e6);
			json_num(o, "lost", m->lost[a * m->n + b]);
		}
}

/* --- findings -------------------------------------------------------------------------- */

static const char *ways(const struct slow_verdict *v)
{
	return v->in && v->out ? "sends and receives" : v->in ? "receives" : "sends";
}

static void fix_node(const struct matrix *m, struct finding *f, int node)
{
	if (m->one_host)
		return finding_fix(f, "ps -o pid,ni,psr,pcpu,args -p %d", unit(m, node)->pid);
	finding_fix(f, "ssh %s 'ip -s link; tc -s qdisc'", name_of(m, node));
	finding_fix(f, "srun --exclude=%s ...  # until it is repaired", name_of(m, node));
}

static void say_one(const struct matrix *m, const struct slow_verdict *v)
{
	bool is_link = v->kind == SLOW_LINK || v->kind == LOSSY_LINK;
	bool loses = v->kind == LOSSY_NODE || v->kind == LOSSY_LINK;
	const char *a = name_of(m, v->a), *b = is_link ? name_of(m, v->b) : NULL;
	const char *subject = is_link ? arena_printf(m->s->a, "%s -> %s", a, b) : a;
	struct finding *f = report_find(m->s->r, loses ? "pair.loss" : "pair.bandwidth", subject);

	if (v->kind == SLOW_NODE)
		finding_set(f, ST_FAIL,
			    "%s %s at most %.3f GB/s with any partner; the others reach %.3f", a,
			    ways(v), v->is, v->others);
	else if (v->kind == SLOW_LINK)
		finding_set(f, ST_FAIL,
			    "%s reaches %.3f GB/s to %s, and both reach %.3f with others: the "
			    "link between them",
			    a, v->is, b, v->others);
	else if (v->kind == LOSSY_NODE)
		finding_set(f, ST_FAIL,
			    "%.2f %% of what %s %s is lost, with most partners: its cable, port "
			    "or card",
			    v->is * 100, a, ways(v));
	else
		finding_set(f, ST_FAIL, "%.2f %% of what %s sends to %s is lost", v->is * 100, a,
			    b);
	if (loses) {
		finding_value(f, v->is * 100, "%");
		finding_expect(f, "<= %g %% sent again", LOSSY_SHARE * 100);
	} else {
		finding_value(f, v->is, "GB/s");
		finding_expect(f, ">= %.3f GB/s", v->others * SLOW_SHARE);
	}
	fix_node(m, f, v->a);
	verdict_add(m->s->r, f);
}

static void say_healthy(const struct matrix *m)
{
	double usual = slow_median(m->gbps, (size_t)m->n * (size_t)m->n, m->s->a);
	double latency = slow_median(m->latency, (size_t)m->n * (size_t)m->n, m->s->a);
	struct finding *f = report_find(m->s->r, "pair.bandwidth", NULL);

	finding_set(f, ST_PASS,
		    "%d pairs: median %.3f GB/s and %.1f us; no node and no link stands out",
		    m->n * (m->n - 1) / 2, usual, latency * 1e6);
	finding_value(f, usual, "GB/s");
	verdict_add(m->s->r, f);
}

void verdict_pairs(const struct story *s, bool matrix)
{
	struct slow_input in;
	struct matrix m;
	slow_list found;

	if (s->units.n < 2 || !s->pairs.n)
		return;
	fill(&m, s);
	if (matrix) {
		draw(&m, "Bandwidth, GB/s", m.gbps, 1, 3);
		draw(&m, "Latency, us", m.latency, 1e6, 1);
		draw(&m, "Packets sent again, %", m.lost, 100, 2);
	}
	if (report_wants_data(s->r))
		add_data(&m);
	in = (struct slow_input){m.n, m.gbps, m.lost};
	slow_find(&in, s->a, &found);
	for (size_t i = 0; i < found.n; i++)
		say_one(&m, &found.v[i]);
	if (!found.n)
		say_healthy(&m);
}
