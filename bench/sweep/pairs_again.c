/*
 * Who looks slow while all pairs are busy is tried again alone, with the same and with a
 * proven-good partner, before anybody is blamed: first for longer and longer, since a busy
 * machine slows a short measurement down as a bad cable does; then by turns with proven
 * pairs of the same ends. Only who does worse than these in the same moments is slow.
 */
#include "bench/sweep/pairs.h"

#include "bench/sweep/slow.h"

#include <math.h>

enum {
	TRIES = 3,
	TRIES_MOST = 6, /* where a machine has too few processors, or a link too few packets */
	SUSPECTS_MAX = 16,
	TURNS = 5,
	TURNS_LEAST = 2, /* enough where there is no doubt */
};
static const double LOSS_SECONDS = 0.5; /* a few hundred packets at 10 Mb/s */

static bool is_lossy(const struct slow_verdict *v)
{
	return v->kind == LOSSY_NODE || v->kind == LOSSY_LINK || v->kind == LOSSY_MOST;
}

/* One who seems to lose is tried for as long as that may be chance. -1: no more. */
static int partner_for(const struct pairs *p, const struct slow_verdict *v, int k)
{
	if (!is_lossy(v))
		return k < (p->serial ? TRIES_MOST : TRIES) ? v->partner : -1;
	if (v->kind == LOSSY_LINK)
		return k < TRIES || !v->sure ? v->partner : -1;
	return v->kind == LOSSY_NODE && !v->sure ? (v->a + 1 + k) % p->n : -1;
}

/* Everybody has the same numbers, so everybody knows who is tried again. */
static int longer(struct pairs *p, const struct slow_input *in, slow_list *suspects, struct err *e)
{
	const double seconds = p->seconds;

	for (int k = 0; k < TRIES_MOST && (!k || suspects->n); k++) {
		slow_suspects(in, p->r->a, suspects);
		p->apart = p->serial ? k : 0;
		for (size_t i = 0; i < suspects->n && i < SUSPECTS_MAX; i++) {
			const struct slow_verdict *v = &suspects->v[i];
			int partner = partner_for(p, v, k);

			if (partner < 0 || partner == v->a)
				continue;
			pairs_progress(p, "suspects again, alone", (int)i, (int)suspects->n);
			p->seconds = is_lossy(v) && !v->sure ? LOSS_SECONDS : seconds * (k + 1);
			if (pairs_try(p, v->a, partner, e))
				return -1;
		}
	}
	p->seconds = seconds;
	slow_find(in, p->r->a, suspects);
	return 0;
}

/* --- by turns ----------------------------------------------------------------------------- */

static bool is_suspect(const slow_list *l, int a, int b)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct slow_verdict *v = &l->v[i];
		bool both = (v->a == a && v->b == b) || (v->a == b && v->b == a);

		if (v->kind == SLOW_NODE ? v->a == a || v->a == b : v->kind == SLOW_LINK && both)
			return true;
	}
	return false;
}

/* With whom @unit did best, sending or receiving, beside @not; -1: nobody. */
static int proven(const struct pairs *p, const slow_list *suspects, int unit, int not, bool sends)
{
	double most = 0;
	int found = -1;

	for (int i = 0; i < p->n; i++) {
		double gbps = p->gbps[sends ? unit * p->n + i : i * p->n + unit];

		if (i == unit || i == not || is_suspect(suspects, unit, i) || !(gbps > most))
			continue;
		most = gbps;
		found = i;
	}
	return found;
}

/* What the pair reached just now, from @a to @b; @unhindered: or would have. */
static int meet_now(struct pairs *p, int a, int b, bool unhindered, double *ret, struct err *e)
{
	const struct pair_result *x = &p->all[p->units[a]];

	if (pairs_try(p, a, b, e))
		return -1;
	*ret = x->gbps < 0 ? NAN : unhindered ? fmax(x->gbps, x->unhindered) : x->gbps;
	return 0;
}

/* The slower of both ends with another one. */
static int meet_proven(struct pairs *p, int a, int with_a, int with_b, int b, double *ret,
		       struct err *e)
{
	double other = NAN;

	*ret = NAN;
	if ((with_a >= 0 && meet_now(p, a, with_a, false, ret, e)) ||
	    (with_b >= 0 && meet_now(p, with_b, b, false, &other, e)))
		return -1;
	*ret = fmin(*ret, other);
	return 0;
}

/* One direction of a suspicion: @a to @b, against @a to @with_a and @with_b to @b. */
static int take_turns(struct pairs *p, int a, int b, int with_a, int with_b, struct err *e)
{
	double others[TURNS], is, best = NAN;
	int n = 0;

	if (with_a < 0 && with_b < 0)
		return 0;
	while (n < TURNS) {
		p->apart = p->serial ? n : 0;
		if (meet_now(p, a, b, true, &is, e) ||
		    meet_proven(p, a, with_a, with_b, b, &others[n], e))
			return -1;
		best = fmax(best, is);
		n++;
		if (n >= TURNS_LEAST &&
		    slow_is_clear(best, slow_median(others, (size_t)n, p->r->a)))
			break;
	}
	p->meanwhile[a * p->n + b] = slow_median(others, (size_t)n, p->r->a);
	return 0;
}

/* A node with its partner, both ways, against that partner with another good one. */
static int node_by_turns(struct pairs *p, const slow_list *l, const struct slow_verdict *v,
			 struct err *e)
{
	int other = v->partner < 0 ? -1 : proven(p, l, v->partner, v->a, v->in);

	if (other < 0)
		return 0;
	if (v->in && take_turns(p, v->partner, v->a, other, -1, e))
		return -1;
	return v->out ? take_turns(p, v->a, v->partner, -1, other, e) : 0;
}

static int by_turns(struct pairs *p, const slow_list *l, struct err *e)
{
	for (size_t i = 0; i < l->n && i < SUSPECTS_MAX; i++) {
		const struct slow_verdict *v = &l->v[i];
		int result = 0;

		if (is_lossy(v))
			continue;
		pairs_progress(p, "suspects beside others", (int)i, (int)l->n);
		if (v->kind == SLOW_NODE)
			result = node_by_turns(p, l, v, e);
		else
			result = take_turns(p, v->a, v->b, proven(p, l, v->a, v->b, true),
					    proven(p, l, v->b, v->a, false), e);
		if (result)
			return -1;
	}
	return 0;
}

int pairs_again(struct pairs *p, struct err *e)
{
	const struct slow_input in = {.n = p->n,
				      .gbps = p->gbps,
				      .sent = p->sent,
				      .again = p->again,
				      .unhindered = p->unhindered};
	const double seconds = p->seconds;
	slow_list suspects = {0};
	int result = longer(p, &in, &suspects, e);

	p->seconds = seconds * 2;
	if (!result)
		result = by_turns(p, &suspects, e);
	p->seconds = seconds;
	p->apart = 0;
	return result;
}
