/* What the ranks have after the proven steps: of parameters that are rank 0's nothing travels. */
#include "bench/train/rank.h"

#include <math.h>

/* From rank @from to rank 0, which has room for them. */
static int fetch(struct rank *r, int from, float *theirs)
{
	size_t ranks = (size_t)r->comm->size, n = r->net->nparams;
	AUTO_FREE size_t *counts = calloc(2 * ranks, sizeof(*counts));
	const struct comm_request q = {.kind = COLL_ALLTOALLV,
				       .send = r->net->params,
				       .recv = theirs,
				       .type = DT_FLOAT,
				       .send_counts = counts,
				       .recv_counts = counts + ranks};

	if (!counts)
		return err_sys(r->e, "no memory");
	counts[0] = r->comm->rank == from ? n : 0;
	counts[ranks + (size_t)from] = r->result ? n : 0;
	return comm_run(r->comm, &q, r->e);
}

/* What is not a number is above everything, and stays. */
static void widen(float *lowest, float *highest, const float *theirs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (theirs[i] < lowest[i])
			lowest[i] = theirs[i];
		if (isnan(theirs[i]) || theirs[i] > highest[i])
			highest[i] = theirs[i];
	}
}

static float *copied(struct rank *r, const float *from)
{
	size_t bytes = r->net->nparams * sizeof(*from);

	return memcpy(arena_alloc(r->result->a, bytes), from, bytes);
}

/* One set at a time, and each but once, however many ranks have it: @hashes are theirs. */
static int compare(struct rank *r, const uint64_t *hashes)
{
	AUTO_FREE float *theirs = NULL;
	float *lowest = NULL, *highest = NULL;
	struct train_result *res = r->result;

	for (int i = 1, like = 0; i < r->comm->size; i++, like = 0) {
		while (hashes[like] != hashes[i])
			like++;
		if (res)
			res->apart[i] = res->apart[like];
		if (like < i)
			continue;
		if (res && !theirs) {
			theirs = malloc(r->net->nparams * sizeof(*theirs));
			res->lowest = lowest = copied(r, r->net->params);
			res->highest = highest = copied(r, r->net->params);
		}
		if (res && !theirs)
			return err_sys(r->e, "no memory for another rank's parameters");
		if (fetch(r, i, theirs))
			return -1;
		if (!res)
			continue;
		res->apart[i] = train_farthest(r->net->params, theirs, r->net->nparams, NULL);
		widen(lowest, highest, theirs, r->net->nparams);
	}
	return 0;
}

int rank_show(struct rank *r)
{
	size_t ranks = (size_t)r->comm->size;
	AUTO_FREE uint64_t *hashes = calloc(ranks, sizeof(*hashes));

	if (!hashes)
		return err_sys(r->e, "no memory");
	if (rank_gather(r, &r->word.before[r->step], sizeof(*hashes), hashes))
		return -1;
	if (r->result) {
		r->result->apart = arena_alloc(r->result->a, ranks * sizeof(double));
		r->result->lowest = r->result->highest = r->result->noted[r->step];
	}
	return compare(r, hashes);
}
