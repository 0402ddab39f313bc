/* Who loses packets, and whether that is more than chance, and more than all others lose. */
#include "bench/sweep/slow_lossy.h"

#include <math.h>

const double LOSSY_SHARE = 0.004;
static const double OUTSTANDING = 3; /* times what others lose */
static const double LEAST_REST = 4;  /* one of so many packets is the least that others sent */

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

bool lossy_is_sure(double sent, double again) { return least_behind(again) > sent * LOSSY_SHARE; }

static bool is_sure(struct lost l) { return lossy_is_sure(l.sent, l.again); }

/* Far more is lost there than of the rest, and not by chance. */
static bool stands_out(struct lost l, struct lost rest)
{
	return share_of(l) > share_of(rest) * OUTSTANDING &&
	       least_behind(l.again) * rest.sent > most_behind(rest.again) * l.sent;
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

/* What is between those that do not lose, but for the links of @found from @before on. */
static struct lost lost_by_rest(const struct slow_input *in, const bool *takes, const bool *sends,
				const slow_list *found, size_t before, struct arena *a)
{
	bool *is_found = arena_alloc(a, (size_t)in->n * (size_t)in->n * sizeof(*is_found));
	struct lost rest = {0};

	for (size_t i = before; i < found->n; i++)
		if (found->v[i].kind == LOSSY_LINK)
			is_found[found->v[i].a * in->n + found->v[i].b] = true;
	for (int i = 0; i < in->n * in->n; i++) {
		int from = i / in->n, to = i % in->n;
		struct lost l = lost_between(in, from, to);

		if (sends[from] || takes[to] || is_found[i])
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
 * A shaper lets one lose a little more than the next: they are nobody's cable. Nor are they where
 * hardly any links are left once those that lose are out: these were picked for losing nothing.
 * True: of those from @before on one was taken out, and none is left.
 */
static bool keep_who_stands_out(const struct slow_input *in, const bool *takes, const bool *sends,
				size_t before, struct arena *a, slow_list *ret)
{
	const struct lost rest = lost_by_rest(in, takes, sends, ret, before, a);
	const bool is_picked = rest.sent * LEAST_REST < lost_by_all(in).sent;
	size_t of = ret->n, kept = before;

	for (size_t i = before; i < of; i++) {
		const struct slow_verdict *v = &ret->v[i];
		struct lost own;

		if (v->kind == LOSSY_LINK)
			own = lost_between(in, v->a, v->b);
		else
			(void)loses(in, v->a, !v->in, true, &own);
		if (!is_picked && stands_out(own, rest))
			ret->v[kept++] = *v;
	}
	ret->n = kept;
	return of > before && kept == before;
}

void slow_lossy(const struct slow_input *in, bool suspects, struct arena *a, slow_list *ret)
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
	if (in->n > 2 && !suspects && keep_who_stands_out(in, takes, sends, before, a, ret))
		say_most(in, a, ret);
}
