#include "bench/sweep/slow.h"

#include "lib/core/stats.h"

#include <math.h>

const double SLOW_SHARE = 0.5, LOSSY_SHARE = 0.004;
const double HINDERED_SHARE = 0.65;
static const double OUTSTANDING = 3;			       /* times what others lose */
static const double BEYOND_DOUBT = 0.25, WITHOUT_FAULT = 0.75; /* of what others reach */

double slow_median(const double *v, size_t n, struct arena *a)
{
	double *known = arena_alloc(a, (n + 1) * sizeof(*known));
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i]))
			known[k++] = v[i];
	sort_doubles(known, k);
	return k ? known[(k - 1) / 2] : NAN;
}

/* What a node reaches with its best partner, sending or receiving. */
static double best(const struct slow_input *in, int node, bool sends)
{
	double most = NAN;

	for (int p = 0; p < in->n; p++)
		most = fmax(most, in->gbps[sends ? node * in->n + p : p * in->n + node]);
	return most;
}

static bool is_low(double value, double usual) { return value < usual * SLOW_SHARE; }

/* Of what @a may have sent to @b, the most that speaks for them. */
static double in_their_favour(const struct slow_input *in, int a, int b)
{
	int at = a * in->n + b;

	return in->unhindered ? fmax(in->gbps[at], in->unhindered[at]) : in->gbps[at];
}

static double best_in_favour(const struct slow_input *in, int node, bool sends)
{
	double most = NAN;

	for (int p = 0; p < in->n; p++)
		most = fmax(most,
			    sends ? in_their_favour(in, node, p) : in_their_favour(in, p, node));
	return most;
}

struct bests {
	double *sends, *takes, usual;
};

static struct bests find_bests(const struct slow_input *in, struct arena *a)
{
	struct bests b = {.sends = arena_alloc(a, (size_t)in->n * 2 * sizeof(double))};

	b.takes = b.sends + in->n;
	for (int i = 0; i < in->n; i++) {
		b.sends[i] = best(in, i, true);
		b.takes[i] = best(in, i, false);
	}
	b.usual = slow_median(b.sends, (size_t)in->n * 2, a);
	return b;
}

static double could(const struct slow_input *in, int a, int b, double otherwise)
{
	return in->meanwhile ? fmin(otherwise, in->meanwhile[a * in->n + b]) : otherwise;
}

/* The usual, or what others reached while this node was tried. */
static double usual_for(const struct slow_input *in, int node, bool sends, double usual)
{
	double most = NAN;

	for (int p = 0; p < in->n; p++)
		if (p != node)
			most = fmax(most,
				    sends ? could(in, node, p, NAN) : could(in, p, node, NAN));
	return fmin(usual, most);
}

static bool sends_low(const struct slow_input *in, const struct bests *b, int node)
{
	return is_low(best_in_favour(in, node, true), usual_for(in, node, true, b->usual));
}

static bool takes_low(const struct slow_input *in, const struct bests *b, int node)
{
	return is_low(best_in_favour(in, node, false), usual_for(in, node, false, b->usual));
}

/* Of two nodes alone nobody can say which one it is. */
static void slow_nodes(const struct slow_input *in, const struct bests *b, struct arena *a,
		       bool *is_slow, slow_list *ret)
{
	int good = -1;

	for (int i = 0; i < in->n; i++) {
		is_slow[i] = in->n > 2 && (sends_low(in, b, i) || takes_low(in, b, i));
		if (!is_slow[i] && good < 0 && b->sends[i] > 0)
			good = i;
	}
	for (int i = 0; i < in->n; i++)
		if (is_slow[i])
			*LIST_ADD(a, ret) =
				(struct slow_verdict){.kind = SLOW_NODE,
						      .a = i,
						      .b = -1,
						      .out = sends_low(in, b, i),
						      .in = takes_low(in, b, i),
						      .is = fmin(b->sends[i], b->takes[i]),
						      .others = b->usual,
						      .partner = good};
}

static void slow_links(const struct slow_input *in, const struct bests *b, struct arena *a,
		       const bool *is_slow, slow_list *ret)
{
	for (int i = 0; i < in->n; i++)
		for (int k = 0; k < in->n; k++) {
			double is = in->gbps[i * in->n + k];
			double other = could(in, i, k, fmin(b->sends[i], b->takes[k]));

			if (i == k || is_slow[i] || is_slow[k] ||
			    !is_low(in_their_favour(in, i, k), other))
				continue;
			*LIST_ADD(a, ret) = (struct slow_verdict){.kind = SLOW_LINK,
								  .a = i,
								  .b = k,
								  .is = is,
								  .others = other,
								  .partner = k};
		}
}

/* --- what is lost -------------------------------------------------------------------------- */

struct lost {
	double sent, again;
};

static struct lost lost_between(const struct slow_input *in, int from, int to)
{
	int at = from * in->n + to;

	return from == to || isnan(in->sent[at]) ? (struct lost){0}
						 : (struct lost){in->sent[at], in->again[at]};
}

static double share_of(struct lost l) { return l.sent > 0 ? l.again / l.sent : NAN; }

/*
 * One packet lost of 230 is a share of 0.43 %, and chance. How many are lost where each is by
 * itself is a Poisson number: in 99 of 100 cases the mean behind @again of them is larger than
 * the one of these, and smaller than the other (Wilson and Hilferty's approximation). Five of 230
 * are proof of LOSSY_SHARE, or twelve of 1300.
 */
static const double NORMAL_99 = 2.326;

static double least_behind(double again)
{
	double root = again > 0 ? 1 - 1 / (9 * again) - NORMAL_99 / (3 * sqrt(again)) : 0;

	return root > 0 ? again * root * root * root : 0;
}

static double most_behind(double again)
{
	double n = again + 1, root = 1 - 1 / (9 * n) + NORMAL_99 / (3 * sqrt(n));

	return n * root * root * root;
}

static bool is_sure(struct lost l) { return least_behind(l.again) > l.sent * LOSSY_SHARE; }

/* Far more is lost there than of the rest, and not by chance; where there is no rest, nobody
 * knows. */
static bool stands_out(struct lost l, struct lost rest)
{
	return !(rest.sent > 0) ||
	       (share_of(l) > share_of(rest) * OUTSTANDING &&
		least_behind(l.again) * rest.sent > most_behind(rest.again) * l.sent);
}

static bool is_lossy(struct lost l, bool suspects)
{
	return share_of(l) > LOSSY_SHARE && (suspects || is_sure(l));
}

/*
 * Do most of a node's links lose, sending or receiving? Of each it may be chance, not of all
 * that they lost together, *ret.
 */
static bool loses(const struct slow_input *in, int node, bool sends, bool suspects,
		  struct lost *ret)
{
	int bad = 0, of = 0;

	*ret = (struct lost){0};
	for (int p = 0; p < in->n; p++) {
		struct lost l = sends ? lost_between(in, node, p) : lost_between(in, p, node);

		of += l.sent > 0;
		bad += share_of(l) > LOSSY_SHARE;
		ret->sent += l.sent;
		ret->again += l.again;
	}
	return bad * 3 > of * 2 && is_lossy(*ret, suspects);
}

/* The nodes; how many they are. */
static int lossy_nodes(const struct slow_input *in, bool suspects, bool *takes, bool *sends,
		       struct arena *a, slow_list *ret)
{
	int n = 0;

	for (int i = 0; i < in->n; i++) {
		struct slow_verdict v = {.kind = LOSSY_NODE, .a = i, .b = -1, .partner = -1};
		struct lost got, gave;

		takes[i] = v.in = loses(in, i, false, suspects, &got);
		sends[i] = v.out = loses(in, i, true, suspects, &gave);
		v.is = share_of(v.in ? got : gave);
		v.sure = is_sure(v.in ? got : gave);
		if (!v.in && !v.out)
			continue;
		*LIST_ADD(a, ret) = v;
		n++;
	}
	return n;
}

static struct lost lost_by_all(const struct slow_input *in)
{
	struct lost all = {0};

	for (int i = 0; i < in->n * in->n; i++) {
		struct lost l = lost_between(in, i / in->n, i % in->n);

		all.sent += l.sent;
		all.again += l.again;
	}
	return all;
}

/* What is between those that do not lose, but for one link (@a to @b; -1: none). */
static struct lost lost_by_rest(const struct slow_input *in, const bool *takes, const bool *sends,
				int a, int b)
{
	struct lost rest = {0};

	for (int i = 0; i < in->n * in->n; i++) {
		int from = i / in->n, to = i % in->n;
		struct lost l = lost_between(in, from, to);

		if (sends[from] || takes[to] || (from == a && to == b))
			continue;
		rest.sent += l.sent;
		rest.again += l.again;
	}
	return rest;
}

/* Nobody stands out: it is what is between them. */
static void say_most(const struct slow_input *in, struct arena *a, slow_list *ret)
{
	struct lost all = lost_by_all(in);

	if (is_sure(all))
		*LIST_ADD(a, ret) = (struct slow_verdict){.kind = LOSSY_MOST,
							  .a = -1,
							  .b = -1,
							  .partner = -1,
							  .is = share_of(all),
							  .sure = true};
}

/* Where most nodes lose, whoever they are, nobody stands out. */
static bool most_lose(const struct slow_input *in, bool *takes, bool *sends, struct arena *a,
		      slow_list *ret)
{
	size_t before = ret->n;
	bool are_most = lossy_nodes(in, true, takes, sends, a, ret) * 3 > in->n * 2;

	ret->n = before;
	if (are_most)
		say_most(in, a, ret);
	return ret->n > before;
}

static void lossy_links(const struct slow_input *in, bool suspects, const bool *takes,
			const bool *sends, struct arena *a, slow_list *ret)
{
	for (int i = 0; i < in->n; i++)
		for (int k = 0; k < in->n; k++) {
			struct lost l = lost_between(in, i, k);

			if (sends[i] || takes[k] || !is_lossy(l, suspects))
				continue;
			*LIST_ADD(a, ret) = (struct slow_verdict){.kind = LOSSY_LINK,
								  .a = i,
								  .b = k,
								  .is = share_of(l),
								  .sure = is_sure(l),
								  .partner = k};
		}
}

/*
 * A shaper lets one lose a little more than the next: they are nobody's cable. True: of those
 * from @before on one was taken out, and none is left.
 */
static bool keep_who_stands_out(const struct slow_input *in, const bool *takes, const bool *sends,
				size_t before, slow_list *ret)
{
	size_t of = ret->n, kept = before;

	for (size_t i = before; i < of; i++) {
		const struct slow_verdict *v = &ret->v[i];
		struct lost rest = lost_by_rest(in, takes, sends, v->a, v->b), own;

		if (v->kind == LOSSY_LINK)
			own = lost_between(in, v->a, v->b);
		else
			(void)loses(in, v->a, !v->in, true, &own);
		if (stands_out(own, rest))
			ret->v[kept++] = *v;
	}
	ret->n = kept;
	return of > before && kept == before;
}

static void lossy(const struct slow_input *in, bool suspects, struct arena *a, slow_list *ret)
{
	bool *takes = arena_alloc(a, (size_t)in->n * 2 * sizeof(*takes)), *sends = takes + in->n;
	size_t before = ret->n;

	if (in->n > 2) {
		if (most_lose(in, takes, sends, a, ret))
			return;
		lossy_nodes(in, suspects, takes, sends, a, ret);
	}
	lossy_links(in, suspects, takes, sends, a, ret);
	/* of two nobody is the rest, and who is only suspected is measured again */
	if (in->n > 2 && !suspects && keep_who_stands_out(in, takes, sends, before, ret))
		say_most(in, a, ret);
}

/* --- all of it ----------------------------------------------------------------------------- */

static void find(const struct slow_input *in, bool suspects, struct arena *a, slow_list *ret)
{
	bool *is_slow = arena_alloc(a, (size_t)in->n * sizeof(*is_slow));
	struct bests b = find_bests(in, a);

	*ret = (slow_list){0};
	slow_nodes(in, &b, a, is_slow, ret);
	slow_links(in, &b, a, is_slow, ret);
	if (in->sent)
		lossy(in, suspects, a, ret);
}

bool slow_is_clear(double best, double others)
{
	return best < BEYOND_DOUBT * others || best >= WITHOUT_FAULT * others;
}

void slow_find(const struct slow_input *in, struct arena *a, slow_list *ret)
{
	find(in, false, a, ret);
}

void slow_suspects(const struct slow_input *in, struct arena *a, slow_list *ret)
{
	find(in, true, a, ret);
}

void slow_doubts(const struct slow_input *in, struct arena *a, slow_list *ret)
{
	const struct slow_input as_measured = {.n = in->n, .gbps = in->gbps};

	slow_find(&as_measured, a, ret);
}

double slow_hindered(const struct slow_input *in, struct arena *a)
{
	double *share = arena_alloc(a, (size_t)in->n * 2 * sizeof(*share)), median;
	struct slow_input unhindered = *in;
	struct bests is, would;

	if (!in->unhindered)
		return 0;
	unhindered.gbps = in->unhindered;
	is = find_bests(in, a);
	would = find_bests(&unhindered, a);
	for (int i = 0; i < in->n * 2; i++)
		share[i] = 1 - is.sends[i] / fmax(is.sends[i], would.sends[i]);
	median = slow_median(share, (size_t)in->n * 2, a);
	return isnan(median) ? 0 : median;
}
