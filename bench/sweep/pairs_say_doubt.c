/* Where nobody is slow: whether that is a word on the network, or on busy processors. */
#include "bench/sweep/pairs_say.h"

#include <math.h>

static int pairs_of(const struct matrix *m)
{
	int n = 0;

	for (int a = 0; a < m->n; a++)
		for (int b = 0; b < a; b++)
			n += isfinite(m->gbps[a * m->n + b]) || isfinite(m->gbps[b * m->n + a]);
	return n;
}

/* Each of them may go over a card of its own. */
static const char *but_gpus(const struct matrix *m)
{
	return m->one_host || m->rail || m->s->ranks.n == m->s->units.n ||
			       streq(m->s->device, "host memory")
		       ? ""
		       : "; of each host one GPU was measured, the others were not";
}

static void say_healthy(const struct matrix *m)
{
	double usual = matrix_median(m);
	double latency = slow_median(m->latency, (size_t)m->n * (size_t)m->n, m->s->a);
	struct finding *f = report_find(m->s->r, "pair.bandwidth", m->rail);

	finding_set(f, ST_PASS,
		    "%d pair%s%s: median %.3f GB/s and %.1f us; no node and no link stands out%s",
		    pairs_of(m), pairs_of(m) == 1 ? "" : "s", matrix_over(m), usual, latency * 1e6,
		    but_gpus(m));
	finding_value(f, usual, "GB/s");
	verdict_add(m->s->r, f);
}

/* The pair that reaches far more than most do, or would without their waiting; -1: none. */
static int find_apart(const struct matrix *m)
{
	int n = m->n * m->n, best = 0;
	double *favour = arena_alloc(m->s->a, (size_t)n * sizeof(*favour));

	for (int i = 0; i < n; i++) {
		favour[i] = fmax(m->gbps[i], m->unhindered[i]);
		if (isfinite(m->gbps[i]) && !(m->gbps[i] <= m->gbps[best]))
			best = i;
	}
	return slow_median(favour, (size_t)n, m->s->a) < m->gbps[best] * SLOW_SHARE ? best : -1;
}

static void fix_apart(const struct matrix *m, struct finding *f)
{
	if (m->one_host || m->of_ranks)
		finding_fix(f, "nvidia-smi topo -m   # what joins which of them");
	else
		finding_fix(f,
			    "ethtool %s; tc -s qdisc   # on each host: the speed that was agreed "
			    "on, a shaper",
			    m->rail ? m->rail : "IFACE");
}

bool doubts_apart(const struct matrix *m)
{
	int best = find_apart(m);
	struct finding *f;

	if (best < 0)
		return false;
	f = report_find(m->s->r, "pair.bandwidth", m->rail);
	finding_set(f, ST_WARN,
		    "half of all directions reach at most %.3f GB/s%s, and %s: too different to "
		    "say who is slow",
		    matrix_median(m), matrix_over(m), matrix_direction(m, best));
	finding_value(f, matrix_median(m), "GB/s");
	finding_expect(f, ">= %.3f GB/s", m->gbps[best] * SLOW_SHARE);
	fix_apart(m, f);
	verdict_add(m->s->r, f);
	return true;
}

/* Nothing to be repaired: a look at what else runs, and another try. */
static void fix_doubt(const struct matrix *m, struct finding *f)
{
	finding_fix(f, "uptime; top -b -n 1  # on each host: what else runs there?");
	again_fix(f, &m->s->o->again, "--find-slow", "again, when it does not");
}

/*
 * Each reached what was measured, at least; but where the usual is how long one waits for a
 * processor, a tenth of a network may be enough for it.
 */
static void say_hindered(const struct matrix *m, double share)
{
	struct finding *f = report_find(m->s->r, "pair.bandwidth", m->rail);

	finding_set(f, ST_WARN,
		    "nobody stands out, which says little: even the best pairs%s waited for "
		    "processors in %.0f %% of the time",
		    matrix_over(m), share * 100);
	finding_value(f, matrix_median(m), "GB/s");
	finding_expect(f, "< %.0f %% of the time", HINDERED_SHARE * 100);
	fix_doubt(m, f);
	verdict_add(m->s->r, f);
}

/* One who is slow as measured, and of whom a busy machine may be the reason. */
static void say_doubt(const struct matrix *m, const struct slow_verdict *v)
{
	const char *a = matrix_name(m, v->a),
		   *b = v->kind == SLOW_LINK ? matrix_name(m, v->b) : NULL;
	struct finding *f = report_find(m->s->r, "pair.bandwidth", matrix_subject(m, a, b));

	finding_set(f, ST_WARN,
		    "%s%s%s reaches %.3f GB/s%s, others %.3f; whether that is the network is not "
		    "known: processors were busy meanwhile",
		    a, b ? " to " : "", b ? b : "", v->is, matrix_over(m), v->others);
	finding_value(f, v->is, "GB/s");
	finding_expect(f, ">= %.3f GB/s", v->others * SLOW_SHARE);
	fix_doubt(m, f);
	verdict_add(m->s->r, f);
}

/* Host memory moves as processors move it; what a GPU sends goes on without them. */
static bool is_hindered(const struct matrix *m, const struct slow_input *in)
{
	return streq(m->s->device, "host memory") && slow_hindered(in, m->s->a) >= HINDERED_SHARE;
}

void doubts_judge(const struct matrix *m, const struct slow_input *in)
{
	bool hindered = is_hindered(m, in);
	slow_list doubts;
	size_t said = 0;

	slow_doubts(in, m->s->a, &doubts);
	for (size_t i = 0; i < doubts.n; i++) {
		if (hindered && doubts.v[i].kind != SLOW_NODE)
			continue; /* of single links that is chance then */
		say_doubt(m, &doubts.v[i]);
		said++;
	}
	if (!said && hindered)
		say_hindered(m, slow_hindered(in, m->s->a));
	else if (!said && !doubts_apart(m))
		say_healthy(m);
}

bool doubts_none(const struct matrix *m, const struct slow_input *in)
{
	slow_list doubts;

	slow_doubts(in, m->s->a, &doubts);
	return !doubts.n && !is_hindered(m, in) && find_apart(m) < 0;
}

/* Who named no hosts asked for those of a cluster, perhaps: what is well between two ranks that
 * nobody asked for says nothing of it. Of GPUs it says what joins them. */
void doubts_unasked(const struct story *s)
{
	struct finding *f;

	if (!s->o->again.bare || story_hosts(s) > 1 || !streq(s->device, "host memory"))
		return;
	f = report_find(s->r, "pair.hosts", NULL);
	finding_set(f, ST_ERROR,
		    "both ranks are on this host, for no others were named: no link between hosts "
		    "was measured");
	finding_expect(f, "two hosts; or --np, for the ranks of one");
	finding_fix(f, "ncclbench --hosts HOSTS --find-slow");
	verdict_add(s->r, f);
}
