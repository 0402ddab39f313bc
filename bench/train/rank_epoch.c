/* The steps of an epoch, and what the ranks tell each other after it. */
#include "bench/train/rank.h"

#include "bench/train/random.h"
#include "lib/core/interrupt.h"
#include "lib/host/robbed.h"

int rank_gather(struct rank *r, const void *mine, size_t n, void *all)
{
	const struct comm_request q = {
		.kind = COLL_ALL_GATHER, .send = mine, .recv = all, .count = n, .type = DT_UINT8};

	return comm_run(r->comm, &q, r->e);
}

static int sum(struct rank *r, void *values, size_t n, enum dtype type)
{
	const struct comm_request q = {.kind = COLL_ALL_REDUCE,
				       .send = values,
				       .recv = values,
				       .count = n,
				       .type = type,
				       .op = OP_SUM};

	return comm_run(r->comm, &q, r->e);
}

/* Every ranks-th one is ours. */
static size_t own_validation(const void *arg, size_t i)
{
	const struct rank *r = arg;

	return (size_t)r->comm->rank + i * (size_t)r->comm->size;
}

/* Each rank has normalized its own shards: rank 0's running statistics are the model's. */
static int share_stats(struct rank *r)
{
	const struct comm_request q = {.kind = COLL_BROADCAST,
				       .send = r->net->stats,
				       .recv = r->net->stats,
				       .count = r->net->nstats,
				       .type = DT_FLOAT};

	return r->net->nstats ? comm_run(r->comm, &q, r->e) : 0;
}

static int validate(struct rank *r, struct train_epoch *ep)
{
	const struct model *m = r->net->model;
	size_t mine = (size_t)r->comm->rank, ranks = (size_t)r->comm->size;
	size_t all_n = r->o->data->n[DATA_VALIDATION];
	const struct loader_job job = {.part = DATA_VALIDATION,
				       .samples = mine < all_n ? (all_n - mine + ranks - 1) / ranks
							       : 0,
				       .at = own_validation,
				       .arg = r};
	double all[4] = {0}; /* loss, top1, top5, samples */
	struct loaded in;

	if (share_stats(r))
		return -1;
	r->net->is_validating = true;
	loader_start(r->loader, &job);
	while ((in = loader_next(r->loader)).n) {
		struct net_score s;

		if (net_begin(r->net, (int)in.n, r->e))
			return -1;
		for (size_t i = 0; i < in.n; i++)
			net_put(r->net, (int)i,
				in.pixels + i * (size_t)(m->channels * m->side * m->side),
				in.labels[i]);
		s = net_forward(r->net);
		if (net_failure(r->net))
			return err_set(r->e, ERR_SYS, "%s", net_failure(r->net));
		all[0] += s.loss * (double)in.n;
		all[1] += s.top1;
		all[2] += s.top5;
		all[3] += (double)in.n;
	}
	r->net->is_validating = false;
	if (sum(r, all, ARRAY_LEN(all), DT_DOUBLE))
		return -1;
	ep->val_loss = all[0] / all[3];
	ep->val_top1 = all[1] / all[3];
	ep->val_top5 = all[2] / all[3];
	return 0;
}

static void count_samples(const struct rank *r, struct train_epoch *ep)
{
	for (size_t i = 0; i < r->o->data->n[DATA_TRAIN]; i++) {
		ep->missed += !r->seen[i];
		ep->repeated += r->seen[i] > 1 ? r->seen[i] - 1 : 0;
	}
}

/* Which rank took samples that were not its own? Only the indices are gone through again. */
static int wrong_shard(const struct rank *r)
{
	for (int i = 0; i < r->comm->size; i++) {
		uint64_t hash = 0;

		if (r->words[i].samples > sampler_per_rank(&r->sampler))
			return i; /* what a peer says is not to be counted through */
		for (size_t k = 0; k < r->words[i].samples; k++)
			hash = random_mix(hash ^ sampler_at(&r->sampler, i, k));
		if (hash != r->words[i].shard)
			return i;
	}
	return -1;
}

/* Of padding samples are seen again, of dropped ones never. */
static bool is_odd(const struct train_result *res, const struct train_epoch *ep)
{
	bool is_cut = !ep->whole && ep->repeated <= res->padding;

	return ep->wrong_shard >= 0 ||
	       (!is_cut && (ep->repeated != res->padding || ep->missed != res->dropped));
}

static void add_up(struct train_total *t, const struct train_word *w)
{
	for (int k = 0; k < PHASES; k++)
		t->seconds[k] += w->seconds[k];
	t->robbed_s += w->robbed_s;
	t->samples += w->samples;
	t->steps += w->steps;
	if (w->longest_s > t->longest_s) {
		t->longest_s = w->longest_s;
		t->longest_data_s = w->longest_data_s;
		t->longest_step = w->longest_step;
	}
}

static void note_epoch(struct rank *r, struct train_epoch *ep)
{
	size_t n = (size_t)r->comm->size * sizeof(*r->words);
	struct train_result *res = r->result;

	if (!res)
		return;
	if (!res->totals)
		res->totals = arena_alloc(res->a, (size_t)r->comm->size * sizeof(*res->totals));
	/* those of the first are kept, of all others the latest */
	ep->words = res->history.nepochs < 2 ? arena_alloc(res->a, n) : res->history.last.words;
	memcpy(ep->words, r->words, n);
	ep->params = r->words[0].params;
	ep->whole = r->word.steps == res->steps_per_epoch;
	count_samples(r, ep);
	ep->wrong_shard = wrong_shard(r);
	for (int i = 0; i < r->comm->size; i++)
		add_up(&res->totals[i], &r->words[i]);
	history_epoch(&res->history, res->a, ep, is_odd(res, ep));
}

static int end_epoch(struct rank *r, bool *ret_sound)
{
	struct train_epoch ep = {.equal = true};

	fault_process(&r->o->fault, r->comm->rank, FAULT_STEP(FAULT_AT_EPOCH));
	if (rank_whole(r))
		return -1;
	r->word.params = hash_words(r->net->params, r->net->nparams);
	r->word.is_lost = !net_is_finite(r->net->params, r->net->nparams) ||
			  !net_is_finite(r->net->stats, r->net->nstats);
	if (rank_gather(r, &r->word, sizeof(r->word), r->words) ||
	    sum(r, r->seen, r->o->data->n[DATA_TRAIN], DT_UINT32) || validate(r, &ep))
		return -1;
	*ret_sound = true;
	for (int i = 0; i < r->comm->size; i++) {
		ep.equal &= r->words[i].params == r->words[0].params;
		*ret_sound &= ep.equal && r->words[i].bad_step == NO_STEP && !r->words[i].is_lost;
	}
	note_epoch(r, &ep);
	return 0;
}

int rank_epoch(struct rank *r, uint64_t number, bool *ret_sound)
{
	struct train_word *w = &r->word;
	double robbed = robbed_s();

	if (sampler_begin(&r->sampler, number, r->e))
		return -1;
	memset(r->seen, 0, r->o->data->n[DATA_TRAIN] * sizeof(*r->seen));
	memset(w->seconds, 0, sizeof(w->seconds));
	w->longest_s = 0;
	rank_begin_epoch(r);
	w->shard = w->samples = w->steps = 0;
	for (uint64_t i = 0; i < train_steps_per_epoch(r->o) && r->step < r->total; i++) {
		if (!r->comm->rank && interrupt_pending()) {
			comm_abort(r->comm, "it was interrupted");
			return interrupt_err(r->e);
		}
		if (rank_step(r, number, i))
			return -1;
	}
	w->robbed_s = robbed_s() - robbed;
	return end_epoch(r, ret_sound);
}
