/*
 * Who holds the others up. While a rank waits it knows for whom; where all trade
 * with all, a rank that is slow (its processor, its card) is the one that all
 * others wait for, and it waits for each of them only a little.
 */
#include "bench/sweep/verdict.h"

#include <math.h>

/* Of the time; so many times what the next one is waited for; and not of a moment. */
static const double SHARE = 0.5, TIMES = 3, SECONDS_MIN = 0.02;
/* Fewer ranks cannot tell: what a slow one waits itself falls on too few others. */
enum { RANKS_MIN = 4 };
enum { LARGE = 1 << 20 }; /* smaller sizes have trees, and everybody waits for a root */

static bool is_even(const struct coll *c) { return !c->rooted && c->kind != COLL_SENDRECV; }

/* The mean share over all large measurements, by their time. 0: there is none. */
static double add_up(const struct story *s, double *shares)
{
	double total = 0;

	for (size_t i = 0; i < s->rows.n && is_even(s->sweep.coll); i++) {
		const struct sweep_row *row = &s->rows.v[i].row;
		const struct measurement *const halves[] = {&row->out, &row->in};

		for (size_t h = 0; h < ARRAY_LEN(halves) && coll_bytes(row->c) >= LARGE; h++) {
			double took = halves[h]->seconds * (double)s->sweep.iters;

			total += halves[h]->waited ? took : 0;
			for (size_t p = 0; p < s->ranks.n && halves[h]->waited; p++)
				shares[p] += halves[h]->waited[p] * took;
		}
	}
	for (size_t p = 0; p < s->ranks.n; p++)
		shares[p] /= total > 0 ? total : 1;
	return total;
}

static bool shares_host(const struct story *s, size_t a, size_t b)
{
	return streq(s->ranks.v[a].host, s->ranks.v[b].host);
}

/* The most that a rank is waited for; of @but, or all of its host where there are others, not. */
static size_t most(const struct story *s, const double *shares, size_t but, bool other_host)
{
	size_t best = s->ranks.n;

	for (size_t p = 0; p < s->ranks.n; p++)
		if (p != but && !(other_host && shares_host(s, p, but)) &&
		    (best == s->ranks.n || shares[p] > shares[best]))
			best = p;
	return best;
}

static void name(const struct story *s, struct finding *f, size_t p, double share, double next)
{
	const struct bench_rank *r = &s->ranks.v[p];
	size_t fellows = 0;

	for (size_t i = 0; i < s->ranks.n; i++)
		fellows += i != p && shares_host(s, i, p);
	finding_set(f, ST_WARN,
		    "the others wait for rank %zu (%s, %s) %.0f %% of the time, for any %s at most "
		    "%.0f %%",
		    p, r->host, r->address, share * 100,
		    fellows && fellows + 1 < s->ranks.n ? "rank elsewhere" : "other one",
		    next * 100);
	if (fellows + 1 < s->ranks.n)
		finding_fix(f,
			    "ncclbench --find-slow  # with the same --hosts: the node, or a link");
	finding_fix(f, "ps -o pid,psr,pcpu,stat,args -p %d; top -b -n 1 | head -n 20  # on %s",
		    r->pid, r->host);
}

void verdict_straggler(const struct story *s)
{
	double *shares = arena_alloc(s->a, (s->ranks.n + 1) * sizeof(*shares));
	size_t slow, next;
	struct finding *f;

	if (s->ranks.n < RANKS_MIN || add_up(s, shares) < SECONDS_MIN)
		return;
	slow = most(s, shares, s->ranks.n, false);
	next = most(s, shares, slow, true);
	if (next == s->ranks.n)
		next = most(s, shares, slow, false);
	f = report_find(s->r, "rank.straggler", s->sweep.coll->name);
	finding_value(f, shares[slow] * 100, "%");
	finding_expect(f, "no rank that is waited for %g times as long as the others", TIMES);
	if (shares[slow] >= SHARE && shares[slow] >= TIMES * shares[next])
		name(s, f, slow, shares[slow], shares[next]);
	else
		finding_set(f, ST_PASS,
			    "no rank holds the others up: they wait for one at most %.0f %% of the "
			    "time, for another at most %.0f %%",
			    shares[slow] * 100, shares[next] * 100);
	verdict_add(s->r, f);
}
