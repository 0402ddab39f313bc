#include "bench/sweep/straggler.h"

#include "bench/sweep/verdict.h"

#include <math.h>

/* Of the time; so many times what the next one is waited for; and not of a moment. */
static const double SHARE = 0.5, TIMES = 3, SECONDS_MIN = 0.02;
/* Fewer ranks cannot tell: what a slow one waits itself falls on too few others. */
enum { RANKS_MIN = 4 };
enum { LARGE = 1 << 20 }; /* smaller sizes have trees, and everybody waits for a root */

static bool is_even(const struct coll *c) { return !c->rooted && c->kind != COLL_SENDRECV; }

double straggler_add(const struct story *s, const struct sweep_row *row, double *seconds)
{
	const struct measurement *const halves[] = {&row->out, &row->in};
	double total = 0;

	if (!is_even(s->sweep.coll) || coll_bytes(row->c) < LARGE)
		return 0;
	for (size_t h = 0; h < ARRAY_LEN(halves); h++) {
		const double *waited = halves[h]->waited;

		total += waited ? halves[h]->took : 0;
		for (size_t p = 0; p < s->ranks.n && waited; p++)
			seconds[p] += waited[p] * halves[h]->took;
	}
	return total;
}

/* The mean share over all large measurements, by their time. 0: there is none. */
static double add_up(const struct story *s, double *shares)
{
	double total = s->waited_of_s;

	if (s->sweep.for_ns)
		return burnin_waited(s, 0, BURNIN_BINS, shares);
	for (size_t p = 0; p < s->ranks.n && s->waited; p++)
		shares[p] = s->waited[p];
	for (size_t i = 0; i < s->rows.n; i++)
		total += straggler_add(s, &s->rows.v[i].row, shares);
	for (size_t p = 0; p < s->ranks.n; p++)
		shares[p] /= total > 0 ? total : 1;
	return total;
}

/* The most that a rank is waited for; of @but, or all of its host where there are others, not. */
static size_t most(const struct story *s, const double *shares, size_t but, bool other_host)
{
	size_t best = s->ranks.n;

	for (size_t p = 0; p < s->ranks.n; p++)
		if (p != but && !(other_host && story_are_together(s, p, but)) &&
		    (best == s->ranks.n || shares[p] > shares[best]))
			best = p;
	return best;
}

bool straggler_find(const struct story *s, const double *shares, double took, struct straggler *ret)
{
	if (s->ranks.n < RANKS_MIN || took < SECONDS_MIN)
		return false;
	ret->slow = most(s, shares, s->ranks.n, false);
	ret->next = most(s, shares, ret->slow, true);
	if (ret->next == s->ranks.n)
		ret->next = most(s, shares, ret->slow, false);
	ret->share = shares[ret->slow];
	ret->next_share = shares[ret->next];
	ret->stands_out = ret->share >= SHARE && ret->share >= TIMES * ret->next_share;
	return true;
}

static void name(const struct story *s, struct finding *f, size_t p, double share, double next)
{
	const struct bench_rank *r = &s->ranks.v[p];
	size_t fellows = 0;

	for (size_t i = 0; i < s->ranks.n; i++)
		fellows += i != p && story_are_together(s, i, p);
	f->rank = (int)p;
	f->host = r->host;
	finding_set(f, ST_WARN,
		    "the others wait for rank %zu (%s, %s) %.0f %% of the time, for any %s at most "
		    "%.0f %%",
		    p, r->host, r->address, share * 100,
		    fellows && fellows + 1 < s->ranks.n ? "rank elsewhere" : "other one",
		    next * 100);
	if (resent_at(s, p)) /* it is not its processor, then */
		return finding_fix(f, "%s   # on %s", RESENT_LOOK, r->host);
	if (fellows + 1 < s->ranks.n)
		again_fix(f, &s->o->again, "--find-slow", "the node, or a link");
	finding_fix(f, "ps -o pid,psr,pcpu,stat,args -p %d; top -b -n 1 | head -n 20  # on %s",
		    r->pid, r->host);
}

void verdict_straggler(const struct story *s)
{
	double *shares = arena_alloc(s->a, (s->ranks.n + 1) * sizeof(*shares));
	struct straggler x;
	struct finding *f;

	if (!straggler_find(s, shares, add_up(s, shares), &x))
		return;
	f = report_find(s->r, "rank.straggler", s->sweep.coll->name);
	finding_value(f, x.share * 100, "%");
	finding_expect(f, "no rank that is waited for %g times as long as the others", TIMES);
	if (x.stands_out)
		name(s, f, x.slow, x.share, x.next_share);
	else
		finding_set(f, ST_PASS,
			    "no rank holds the others up: they wait for one at most %.0f %% of the "
			    "time, for another at most %.0f %%",
			    x.share * 100, x.next_share * 100);
	verdict_add(s->r, f);
}
