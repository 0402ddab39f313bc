/* Where hosts have several ways to each other: each by itself, and one against the others. */
#include "bench/sweep/pairs_say.h"
#include "lib/report/json.h"

#include <math.h>

/* Of each pair what its worst rail does: a collective goes over all of them. */
static void add_worst(struct matrix *worst, const struct matrix *m)
{
	for (int i = 0; i < m->n * m->n; i++) {
		worst->gbps[i] = fmin(worst->gbps[i], m->gbps[i]);
		worst->latency[i] = fmax(worst->latency[i], m->latency[i]);
		if (m->lost[i] <= worst->lost[i] || isnan(m->lost[i]))
			continue;
		worst->lost[i] = m->lost[i];
		worst->sent[i] = m->sent[i];
	}
}

static double best_gbps(const struct matrix *m)
{
	double most = NAN;

	for (int i = 0; i < m->n * m->n; i++)
		most = fmax(most, m->gbps[i]);
	return most;
}

/* One that is slow everywhere stands out in no matrix of its own. */
static void judge_rail(const struct story *s, const struct story_rail *rail, double is,
		       double others, double others_nominal)
{
	struct finding *f = report_find(s->r, "pair.rail", rail->name);
	bool is_made_so = rail->gbps < others_nominal * SLOW_SHARE;

	if (rail->trouble) {
		finding_set(f, rail->asked ? ST_FAIL : ST_WARN, "%s was not measured: %s",
			    rail->name, rail->trouble);
		finding_expect(f, "each host reaches the others over it");
		finding_fix(f, "- portcheck --hosts, with the hosts' addresses on %s", rail->name);
	} else if (is < others * SLOW_SHARE) {
		finding_set(f, is_made_so ? ST_INFO : ST_WARN,
			    "%s reaches at most %.3f GB/s between any hosts, another rail %.3f%s",
			    rail->name, is, others, is_made_so ? ": its cards are slower" : "");
		finding_value(f, is, "GB/s");
		finding_expect(f, ">= %.3f GB/s", others * SLOW_SHARE);
		finding_fix(f,
			    rail->ranks.n ? "nvidia-smi topo -m  # on each host: the card of %s; "
					    "then its switch"
					  : "ethtool %s  # speed and errors, on each host; then "
					    "its switch",
			    rail->name);
	} else {
		return;
	}
	verdict_add(s->r, f);
}

static void add_ranks(cJSON *to, const struct story_rail *rail)
{
	cJSON *ranks = rail->ranks.n ? json_array(to, "ranks") : NULL;

	for (size_t i = 0; i < rail->ranks.n; i++)
		cJSON_AddItemToArray(ranks, cJSON_CreateNumber(rail->ranks.v[i]));
}

void rails_judge(const struct story *s, const struct verdict_opts *o)
{
	double *bests = arena_alloc(s->a, s->rails.n * sizeof(*bests));
	double best = NAN, nominal = NAN;
	cJSON *rails = report_wants_data(s->r) ? json_array(report_data(s->r), "rails") : NULL;
	struct matrix m, worst;

	matrix_fill(&worst, s, (int)s->rails.n); /* empty */
	for (size_t i = 0; i < s->rails.n; i++) {
		cJSON *to = rails ? json_push_object(rails) : NULL;

		matrix_fill(&m, s, (int)i);
		bests[i] = best_gbps(&m);
		best = fmax(best, bests[i]);
		nominal = fmax(nominal, s->rails.v[i].gbps);
		add_worst(&worst, &m);
		if (!s->rails.v[i].trouble)
			matrix_judge(&m, o);
		if (!to)
			continue;
		json_str(to, "name", m.rail);
		json_num(to, "median_gbps", matrix_median(&m));
		add_ranks(to, &s->rails.v[i]);
		matrix_add_pairs(&m, json_array(to, "pairs"));
	}
	for (size_t i = 0; i < s->rails.n; i++)
		judge_rail(s, &s->rails.v[i], bests[i], best, nominal);
	matrix_tell_pairs(&worst);
}
