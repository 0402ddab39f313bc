#include "bench/sweep/slow.h"
#include "bench/sweep/slow_lossy.h"

#include "lib/core/stats.h"

#include <math.h>

const double SLOW_SHARE = 0.5;
const double HINDERED_SHARE = 0.65;
static const double BEYOND_DOUBT = 0.25, WITHOUT_FAULT = 0.75; /* of what others reach */

/* In order. */
static double *known_of(const double *v, size_t n, struct arena *a, size_t *ret_n)
{
	double *known = arena_alloc(a, (n + 1) * sizeof(*known));
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i]))
			known[k++] = v[i];
	sort_doubles(known, k);
	*ret_n = k;
	return known;
}

double slow_median(const double *v, size_t n, struct arena *a)
{
	size_t k;
	const double *known = known_of(v, n, a, &k);

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
	const double *known;
	size_t k;

	b.takes = b.sends + in->n;
	for (int i = 0; i < in->n; i++) {
		b.sends[i] = best(in, i, true);
		b.takes[i] = best(in, i, false);
	}
	known = known_of(b.sends, (size_t)in->n * 2, a, &k);
	b.usual = sorted_quantile(known, k, 0.5); /* where half are slow, what the others reach */
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

/* --- all of it ----------------------------------------------------------------------------- */

static void find(const struct slow_input *in, bool suspects, struct arena *a, slow_list *ret)
{
	bool *is_slow = arena_alloc(a, (size_t)in->n * sizeof(*is_slow));
	struct bests b = find_bests(in, a);

	*ret = (slow_list){0};
	slow_nodes(in, &b, a, is_slow, ret);
	slow_links(in, &b, a, is_slow, ret);
	if (in->sent)
		slow_lossy(in, suspects, a, ret);
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
