#include "bench/train/odd.h"

struct ballot {
	const char *all;
	size_t each;
	int n;
	const size_t *host;
	bool by_host;
};

static bool are_alike(const struct ballot *b, int i, int k)
{
	return !memcmp(b->all + (size_t)i * b->each, b->all + (size_t)k * b->each, b->each);
}

static int first_of_host(const struct ballot *b, int rank)
{
	int i = 0;

	while (b->host[i] != b->host[rank])
		i++;
	return i;
}

static int first_unlike(const struct ballot *b, int like)
{
	for (int i = 0; i < b->n; i++)
		if (!are_alike(b, i, like))
			return i;
	return -1;
}

static bool is_same_on_each_host(const struct ballot *b)
{
	for (int i = 0; i < b->n; i++)
		if (!are_alike(b, i, first_of_host(b, i)))
			return false;
	return true;
}

static bool may_vote(const struct ballot *b, int rank)
{
	return !b->by_host || first_of_host(b, rank) == rank;
}

/* Of how many votes @rank's side has how many. */
static int count(const struct ballot *b, int rank, int *ret_all)
{
	int n = 0;

	*ret_all = 0;
	for (int i = 0; i < b->n; i++) {
		*ret_all += may_vote(b, i);
		n += may_vote(b, i) && are_alike(b, i, rank);
	}
	return n;
}

/* The only one that can have more than half of the votes: pairs of unlike ones strike each other
 * out (Boyer and Moore). */
static int candidate(const struct ballot *b)
{
	int who = 0, left = 0;

	for (int i = 0; i < b->n; i++) {
		if (!may_vote(b, i))
			continue;
		who = left ? who : i;
		left += are_alike(b, i, who) ? 1 : -1;
	}
	return who;
}

/* -1: there is no majority. */
static int first_of_most(const struct ballot *b)
{
	int who = candidate(b), first = 0, all, most = count(b, who, &all);

	if (2 * most <= all || all <= 2)
		return -1;
	while (!are_alike(b, first, who))
		first++;
	return first;
}

struct odd odd_find(const void *all, size_t each, int n, const size_t *host)
{
	struct ballot b = {all, each, n, host, false};
	struct odd odd = {.rank = first_unlike(&b, 0)};
	int most;

	if (odd.rank < 0)
		return odd;
	b.by_host = is_same_on_each_host(&b);
	most = first_of_most(&b);
	odd.is_told = most >= 0;
	odd.like = most < 0 ? 0 : most;
	odd.rank = first_unlike(&b, odd.like);
	b.by_host = false;
	odd.more = count(&b, odd.like, &most) - 1;
	return odd;
}
