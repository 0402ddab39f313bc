/* The matrix of pairs, and who of them is slow. */
#include "bench/sweep/pairs_say.h"
#include "bench/sweep/table.h"
#include "lib/cluster/hostlist.h"
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/report/json.h"

#include <math.h>

enum { NAMED_MAX = 8 };

const struct bench_rank *matrix_unit(const struct matrix *m, int i)
{
	return &m->s->ranks.v[m->s->units.v[i]];
}

const char *matrix_name(const struct matrix *m, int i)
{
	return m->one_host ? arena_printf(m->s->a, "rank %d", m->s->units.v[i])
			   : matrix_unit(m, i)->host;
}

/* " over eth1", or nothing. */
const char *matrix_over(const struct matrix *m)
{
	return m->rail ? arena_printf(m->s->a, " over %s", m->rail) : "";
}

const char *matrix_subject(const struct matrix *m, const char *a, const char *b)
{
	return arena_printf(m->s->a, "%s%s%s%s%s", a, b ? " -> " : "", b ? b : "",
			    m->rail ? " " : "", m->rail ? m->rail : "");
}

double matrix_median(const struct matrix *m)
{
	return slow_median(m->gbps, (size_t)m->n * (size_t)m->n, m->s->a);
}

static double *empty(const struct story *s, int n)
{
	double *v = arena_alloc(s->a, ((size_t)n * (size_t)n + 1) * sizeof(*v));

	for (int i = 0; i < n * n; i++)
		v[i] = NAN;
	return v;
}

void matrix_fill(struct matrix *m, const struct story *s, int rail)
{
	bool has_rail = rail >= 0 && rail < (int)s->rails.n;

	*m = (struct matrix){.s = s,
			     .n = (int)s->units.n,
			     .rail = has_rail ? s->rails.v[rail].name : NULL,
			     .of_ranks = has_rail && s->rails.v[rail].ranks.n};
	m->gbps = empty(s, m->n);
	m->latency = empty(s, m->n);
	m->sent = empty(s, m->n);
	m->again = empty(s, m->n);
	m->lost = empty(s, m->n);
	m->unhindered = empty(s, m->n);
	m->meanwhile = empty(s, m->n);
	m->one_host = m->n > 1 && story_hosts(s) < 2;
	for (size_t i = 0; i < s->pairs.n; i++) {
		const struct story_pair *p = &s->pairs.v[i];
		int at = p->a * m->n + p->b;

		if (p->rail != rail)
			continue;
		m->gbps[at] = p->gbps;
		m->latency[at] = p->latency_s;
		m->sent[at] = p->sent;
		m->again[at] = p->again;
		m->lost[at] = p->again / p->sent;
		m->unhindered[at] = p->unhindered;
		m->meanwhile[at] = p->meanwhile;
	}
}

/* --- the matrix ---------------------------------------------------------------------- */

enum { HEAD = 10, LABEL = 14 };

static bool names_fit(const struct matrix *m)
{
	for (int i = 0; i < m->n; i++)
		if (strlen(matrix_name(m, i)) > HEAD)
			return false;
	return true;
}

/* Before a row. Over its column stands the number alone of a long name: hosts of a cloud differ at
 * the end of theirs, and none is cut. */
static const char *label_of(const struct matrix *m, int i, bool fit)
{
	return fit ? matrix_name(m, i) : arena_printf(m->s->a, "%d %s", i, matrix_name(m, i));
}

static int label_width(const struct matrix *m, bool fit)
{
	size_t most = LABEL;

	for (int i = 0; i < m->n; i++) {
		size_t n = strlen(label_of(m, i, fit));

		most = n > most ? n : most;
	}
	return (int)most;
}

static void draw(const struct matrix *m, const char *title, const double *v, double scale,
		 int decimals)
{
	bool fit = names_fit(m);
	int label = label_width(m, fit);
	struct text t;

	if (isnan(slow_median(v, (size_t)m->n * (size_t)m->n, m->s->a)))
		return; /* nobody counts that here */

	text_init(&t, m->s->a);
	text_addf(&t, "# %s%s%s (row to column)\n%-*s", title, m->rail ? ", " : "",
		  m->rail ? m->rail : "", label, "");
	for (int b = 0; b < m->n; b++)
		text_addf(&t, " %*s", HEAD,
			  fit ? matrix_name(m, b) : arena_printf(m->s->a, "%d", b));
	for (int a = 0; a < m->n; a++) {
		text_addf(&t, "\n%-*s", label, label_of(m, a, fit));
		for (int b = 0; b < m->n; b++)
			if (isnan(v[a * m->n + b]))
				text_addf(&t, " %*s", HEAD, a == b ? "." : "-");
			else
				text_addf(&t, " %*.*f", HEAD, decimals, v[a * m->n + b] * scale);
	}
	text_add(&t, "\n");
	report_answer(m->s->r, t.s, t.n);
}

/* --- findings -------------------------------------------------------------------------- */

static const char *ways(const struct slow_verdict *v)
{
	return v->in && v->out ? "sends and receives" : v->in ? "receives" : "sends";
}

static void look_at(const struct matrix *m, struct finding *f, int node)
{
	const char *name = matrix_name(m, node), *look = "ip -s link; tc -s qdisc";

	if (m->one_host)
		return finding_fix(f, "ps -o pid,ni,psr,pcpu,args -p %d",
				   matrix_unit(m, node)->pid);
	if (m->of_ranks)
		look = arena_printf(f->a,
				    "nvidia-smi topo -m; rdma link; rdma statistic  # %s's card",
				    m->rail);
	else if (m->rail)
		look = arena_printf(f->a, "ethtool %s; ip -s link show %s; tc -s qdisc show dev %s",
				    m->rail, m->rail, m->rail);
	finding_fix(f, "%s", typed_on(f->a, rsh_typed(f->a, NULL), name, look));
}

/* Of a link either end may be it. */
static void fix_nodes(const struct matrix *m, struct finding *f, const char *a, const char *b,
		      const struct slow_verdict *v)
{
	look_at(m, f, v->a);
	if (b)
		look_at(m, f, v->b);
	if (!m->one_host && m->n > 2 && host_is_node(a))
		finding_fix(f, "srun --exclude=%s ...  # %s%suntil it is repaired", a,
			    b ? "or " : "", b ? arena_printf(f->a, "%s, ", b) : "");
}

/* What TCP does where a network is full: there is nobody to be left out. */
static void say_lossy(const struct matrix *m, const struct slow_verdict *v)
{
	struct finding *f = report_find(m->s->r, "pair.loss", NULL);

	finding_set(f, ST_WARN,
		    "no node stands out: %.2f %% of what goes between two%s is sent again: a rate "
		    "limit, a full or radio network, or the switch that all have",
		    v->is * 100, matrix_over(m));
	finding_value(f, v->is * 100, "%");
	finding_expect(f, "<= %g %% sent again", LOSSY_SHARE * 100);
	finding_fix(f, "ip -s link; tc -s qdisc   # on each: a shaper, errors, drops");
	verdict_add(m->s->r, f);
}

static void say_one(const struct matrix *m, const struct slow_verdict *v)
{
	bool is_link = v->kind == SLOW_LINK || v->kind == LOSSY_LINK;
	bool loses = v->kind == LOSSY_NODE || v->kind == LOSSY_LINK;
	const char *a = matrix_name(m, v->a), *b = is_link ? matrix_name(m, v->b) : NULL;
	struct finding *f = report_find(m->s->r, loses ? "pair.loss" : "pair.bandwidth",
					matrix_subject(m, a, b));

	if (v->kind == SLOW_NODE)
		finding_set(f, ST_FAIL,
			    "%s %s at most %.3f GB/s%s with any partner; the others reach %.3f", a,
			    ways(v), v->is, matrix_over(m), v->others);
	else if (v->kind == SLOW_LINK)
		finding_set(f, ST_FAIL,
			    "%s reaches %.3f GB/s to %s%s, and both reach %.3f with others: the "
			    "link between them",
			    a, v->is, b, matrix_over(m), v->others);
	else if (v->kind == LOSSY_NODE)
		finding_set(f, ST_FAIL,
			    "%.2f %% of what %s %s%s is lost, with most partners: its cable, port "
			    "or card",
			    v->is * 100, a, ways(v), matrix_over(m));
	else
		finding_set(f, ST_FAIL, "%.2f %% of what %s sends to %s%s is lost", v->is * 100, a,
			    b, matrix_over(m));
	if (loses) {
		finding_value(f, v->is * 100, "%");
		finding_expect(f, "<= %g %% sent again", LOSSY_SHARE * 100);
	} else {
		finding_value(f, v->is, "GB/s");
		finding_expect(f, ">= %.3f GB/s", v->others * SLOW_SHARE);
	}
	fix_nodes(m, f, a, b, v);
	verdict_add(m->s->r, f);
}

/*
 * Ranks that share this machine's processors: how long each waits for one is all that
 * makes a pair of them slow, and there is no link to be repaired.
 */
static void say_shared(const struct matrix *m)
{
	struct finding *f = report_find(m->s->r, "pair.bandwidth", NULL);
	double usual = matrix_median(m);
	int n = m->n * m->n, worst = -1;

	for (int i = 0; i < n; i++)
		if (isfinite(m->gbps[i]) && (worst < 0 || m->gbps[i] < m->gbps[worst]))
			worst = i;
	finding_set(f, ST_INFO,
		    "median %.3f GB/s, %s to %s %.3f; not judged: between ranks of one machine it "
		    "is who gets a processor",
		    usual, matrix_name(m, worst / m->n), matrix_name(m, worst % m->n),
		    m->gbps[worst]);
	finding_value(f, usual, "GB/s");
	verdict_add(m->s->r, f);
}

/* Who comes behind @last (-1: nobody yet) in the order of their speed; -1: nobody is left. */
static int next_slowest(const struct matrix *m, int last)
{
	int best = -1;

	for (int i = 0; i < m->n * m->n; i++) {
		double v = m->gbps[i];
		bool is_behind = last < 0 || v > m->gbps[last] || (v == m->gbps[last] && i > last);

		if (isfinite(v) && is_behind && (best < 0 || v < m->gbps[best]))
			best = i;
	}
	return best;
}

const char *matrix_direction(const struct matrix *m, int i)
{
	return arena_printf(m->s->a, "%s to %s %.3f", matrix_name(m, i / m->n),
			    matrix_name(m, i % m->n), m->gbps[i]);
}

/* --expect: each direction of each pair, by itself; the slowest are named. */
static void judge_expected(const struct matrix *m, double limit)
{
	struct finding *f = report_find(m->s->r, "pair.expected", m->rail);
	int slowest = next_slowest(m, -1), below = 0, of = 0;
	struct text t;

	for (int i = 0; i < m->n * m->n; i++) {
		of += isfinite(m->gbps[i]);
		below += m->gbps[i] < limit; /* never of NAN */
	}
	text_init(&t, m->s->a);
	for (int i = slowest, k = 0; k < below && k < NAMED_MAX; i = next_slowest(m, i), k++)
		text_addf(&t, "%s%s", k ? ", " : "", matrix_direction(m, i));
	if (below > NAMED_MAX)
		text_add(&t, " ...");
	if (below)
		finding_set(f, ST_FAIL, "%d of %d directions are below %g GB/s%s: %s", below, of,
			    limit, matrix_over(m), t.s);
	else
		finding_set(f, ST_PASS, "all %d directions reach %g GB/s%s; the slowest is %s", of,
			    limit, matrix_over(m), matrix_direction(m, slowest));
	finding_value(f, m->gbps[slowest], "GB/s");
	finding_expect(f, ">= %g GB/s", limit);
	if (below) {
		look_at(m, f, slowest / m->n);
		look_at(m, f, slowest % m->n);
	}
	verdict_add(m->s->r, f);
}

void matrix_judge(const struct matrix *m, const struct verdict_opts *o)
{
	const struct slow_input in = {.n = m->n,
				      .gbps = m->gbps,
				      .sent = m->sent,
				      .again = m->again,
				      .unhindered = m->unhindered,
				      .meanwhile = m->meanwhile};
	slow_list found;

	if (isnan(matrix_median(m)))
		return; /* it did not come to that */
	if (o->pairs && !report_is_quiet(m->s->r)) {
		draw(m, "Bandwidth, GB/s", m->gbps, 1, 3);
		draw(m, "Latency, us", m->latency, 1e6, 1);
		draw(m, "Packets sent again, %", m->lost, 100, 2);
	}
	if (o->expect_gbps > 0)
		judge_expected(m, o->expect_gbps);
	slow_find(&in, m->s->a, &found);
	if (m->one_host && streq(m->s->device, "host memory") &&
	    (found.n || !doubts_none(m, &in))) {
		say_shared(m);
		return;
	}
	if (m->one_host && found.n && doubts_apart(m))
		return;
	for (size_t i = 0; i < found.n; i++)
		(found.v[i].kind == LOSSY_MOST ? say_lossy : say_one)(m, &found.v[i]);
	if (!found.n)
		doubts_judge(m, &in);
}

/* Else it would pass, as if all of them had been well. */
static void say_alone(const struct story *s)
{
	struct finding *f = report_find(s->r, "pair.bandwidth", NULL);

	finding_set(f, ST_ERROR, "one rank alone is no pair: nothing was measured");
	finding_expect(f, "two ranks, or one on each of two hosts");
	finding_fix(f, "ncclbench --hosts HOSTS --find-slow");
	verdict_add(s->r, f);
}

void verdict_pairs(const struct story *s, const struct verdict_opts *o)
{
	struct matrix m;

	if (s->units.n == 1)
		say_alone(s);
	else if (s->units.n > 1)
		doubts_unasked(s);
	if (s->units.n < 2 || (!s->pairs.n && !s->rails.n))
		return;
	if (s->rails.n) {
		rails_judge(s, o);
	} else {
		matrix_fill(&m, s, -1);
		matrix_judge(&m, o);
		matrix_tell_pairs(&m);
	}
	at_once_say(s, o);
}
