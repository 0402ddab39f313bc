/* The first steps once more: the same seed has to give the same bits. */
#include "bench/train/rank.h"

#include "bench/train/random.h"

static int begin_again(struct rank *r)
{
	size_t n = r->net->nparams;

	memcpy(r->net->params, r->start, n * sizeof(float));
	if (r->o->is_sharded)
		shards_take(&r->shards);
	memset(r->velocity, 0, n * sizeof(float));
	memset(r->again, 0, sizeof(r->again));
	r->hashes = r->again;
	r->step = r->exposed_ns = 0;
	r->overlap.late = r->shards.late = true;
	r->repeating = true;
	return net_store(r->net, r->e);
}

/* Whose parameters were the first to be others; what went wrong for one soon moves all. */
static void find_unlike(const struct rank *r, const struct train_again *all)
{
	struct train_result *res = r->result;
	uint64_t first = UINT64_MAX;
	int n = 0;

	for (int i = 0; i < r->comm->size; i++)
		if (all[i].parted && all[i].parted < first) {
			first = all[i].parted;
			res->unlike_rank = i;
		}
	for (int i = 0; i < r->comm->size; i++)
		n += all[i].parted == first;
	if (n && r->o->is_sharded) {
		res->unlike_rank = (int)all[0].owner;
	} else if (n == r->comm->size && n > 1) {
		res->unlike_rank = -1;
		res->all_unlike = true;
	}
}

/* Whose own gradient was another one, and what went into it was the same? */
static void judge(struct rank *r, const struct train_again *all)
{
	struct train_result *res = r->result;
	double exposed = 0, late = 0;

	res->repeated = true;
	res->fickle_rank = res->unlike_rank = -1;
	for (int i = r->comm->size - 1; i >= 0; i--) {
		if (all[i].step < r->proven &&
		    (res->fickle_rank < 0 || all[i].step <= res->fickle_step)) {
			res->fickle_rank = i;
			res->fickle_step = all[i].step;
		}
		exposed += (double)all[i].exposed_ns;
		late += (double)all[i].late_ns;
	}
	find_unlike(r, all);
	res->hidden = late > exposed ? 1 - exposed / late : 0;
}

/* Are the parameters what they were before step @i? */
static int look_again(struct rank *r, uint64_t i, struct train_again *mine)
{
	size_t n = r->net->nparams, where;

	if (rank_whole(r))
		return -1;
	if (mine->parted || hash_words(r->net->params, n) == r->word.before[i])
		return 0;
	mine->parted = i + 1;
	if (!r->result)
		return 0;
	r->result->unlike_by = train_farthest(r->net->params, r->result->noted[i], n, &where);
	if (r->o->is_sharded)
		mine->owner = (uint64_t)train_owner(r->net, r->comm->size, where);
	return 0;
}

int rank_repeat(struct rank *r)
{
	AUTO_FREE struct train_again *all = calloc((size_t)r->comm->size, sizeof(*all));
	struct train_again mine = {0};
	const uint64_t *first = r->word.grads;

	mine.exposed_ns = r->exposed_ns;

	if (!all)
		return err_sys(r->e, "no memory");
	if (sampler_begin(&r->sampler, 0, r->e))
		return -1;
	if (begin_again(r))
		return -1;
	rank_begin_epoch(r);
	for (uint64_t i = 0; i < r->proven; i++) {
		if (look_again(r, i, &mine) || rank_step(r, 0, i))
			return -1;
		/* of other parameters a gradient is another one */
		if (!mine.parted && mine.step == i && r->again[i] == first[i])
			mine.step++;
	}
	if (look_again(r, r->proven, &mine))
		return -1;
	if (mine.parted)
		mine.step = mine.step + 1 < mine.parted ? mine.step : r->proven;
	mine.late_ns = r->exposed_ns;
	if (rank_gather(r, &mine, sizeof(mine), all))
		return -1;
	if (r->result)
		judge(r, all);
	return 0;
}
