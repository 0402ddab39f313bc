/* One rank from its first words to its last. */
#include "bench/train/rank.h"

#include "lib/host/processors.h"

/* The widest that all processors have: another set rounds otherwise. */
static int choose_kernels(struct rank *r, const struct kernels **ret)
{
	bool is_old = fault_is(&r->o->fault, FAULT_OLD, r->comm->rank);
	uint8_t mine = is_old ? KERNELS_PLAIN : (uint8_t)kernels_best()->set, least = mine;
	AUTO_FREE uint8_t *all = calloc((size_t)r->comm->size, 1);

	if (!all)
		return err_sys(r->e, "no memory");
	if (rank_gather(r, &mine, 1, all))
		return -1;
	for (int i = 0; i < r->comm->size; i++)
		least = all[i] < least ? all[i] : least;
	*ret = kernels_of((enum kernel_set)least);
	return 0;
}

static int allocate(struct rank *r)
{
	const size_t samples = r->o->data->n[DATA_TRAIN];

	r->velocity = calloc(r->net->nparams, sizeof(*r->velocity));
	r->seen = calloc(samples, sizeof(*r->seen));
	r->start = calloc(r->net->nparams, sizeof(*r->start));
	r->words = calloc((size_t)r->o->np, sizeof(*r->words));
	return r->velocity && r->seen && r->start && r->words
		       ? 0
		       : err_sys(r->e, "no memory for %zu samples", samples);
}

/* How many steps there are, and how many of them are proven. */
static void count_steps(struct rank *r)
{
	/* Of a large network each takes long, and one process does them for all ranks. */
	enum { PROVEN_SAMPLES = 16384, GRAPH_PROVEN = 2, GRAPH_RANKS = 64 };
	const struct train_opts *o = r->o;
	uint64_t per_epoch = train_steps_per_epoch(o), all = per_epoch * train_epochs(o);
	uint64_t affordable = o->model->graph
				      ? (o->np > GRAPH_RANKS ? 1 : GRAPH_PROVEN)
				      : PROVEN_SAMPLES / ((uint64_t)o->np * (uint64_t)o->batch);

	r->total = o->max_steps && o->max_steps < all ? o->max_steps : all;
	r->proven = affordable < 1 ? 1 : affordable > PROVEN_STEPS ? PROVEN_STEPS : affordable;
	r->proven = r->proven > r->total ? r->total : r->proven;
	r->proven = r->proven > per_epoch ? per_epoch : r->proven;
	if (!r->result)
		return;
	r->result->total_steps = r->total;
	r->result->steps_per_epoch = per_epoch;
	r->result->proven_steps = r->proven;
}

/* The first rank that is on this one's. */
static int machine_of(const struct comm *c)
{
	int i = 0;

	while (i < c->rank && !comm_peer(c, i)->same_machine)
		i++;
	return i;
}

int rank_prepare(struct rank *r)
{
	const struct train_opts *o = r->o;
	const struct loader_opts loading = {o->data, o->model->channels, o->model->side,
					    (size_t)o->batch, o->workers};
	const struct kernels *kernels = NULL;

	if (choose_kernels(r, &kernels))
		return -1;
	r->net = net_new(o->model, kernels, o->engine, o->batch, r->e);
	if (!r->net || (!o->is_sharded && net_device_new(r->net, o->gpu_dev, r->e)) || allocate(r))
		return -1;
	r->loader = loader_new(&loading, r->e);
	if (!r->loader || (o->is_sharded && shards_new(&r->shards, r->comm, r->net, r->e)))
		return -1;
	r->overlap = (struct overlap){.comm = o->gpu_comm ?: r->comm, .net = r->net};
	if (o->gpu_comm)
		r->overlap.stream = o->gpu_dev->stream(o->gpu_dev);
	r->sampler = train_sampler(o);
	r->hashes = r->word.grads;
	r->word.bad_step = r->word.hole_step = NO_STEP;
	r->word.maker = engine_maker(o->loaded);
	r->word.processors = processors_usable();
	r->word.first_processor = processors_allowed_nth(0);
	r->word.machine = machine_of(r->comm);
	count_steps(r);
	if (r->result) {
		r->result->kernels = kernels;
		r->result->padding = sampler_padding(&r->sampler);
		r->result->dropped = sampler_dropped(&r->sampler);
	}
	return 0;
}

static int train(struct rank *r)
{
	bool sound = true;
	int odd = -1;

	if (rank_compare(r, &odd))
		return -1;
	if (odd >= 0)
		return 0;
	if (rank_prepare(r) || rank_compare_layouts(r, &odd))
		return -1;
	if (odd >= 0)
		return 0;
	if (rank_warm(r) || rank_broadcast(r) || (r->saving && rank_save_begin(r)))
		return -1;
	for (uint64_t i = 0; i < train_epochs(r->o) && r->step < r->total && sound; i++)
		if (rank_epoch(r, i, &sound) ||
		    (sound && rank_save_due(r, i + 1) && rank_save(r, i + 1)))
			return -1;
	if (r->result)
		r->result->skipped_steps = r->net->scaler.skipped;
	return sound && (rank_save_end(r) || rank_repeat(r)) ? -1 : 0;
}

void rank_done(struct rank *r)
{
	const struct dev *gpu = r->o->gpu_dev;

	shards_done(&r->shards);
	loader_free(r->loader);
	if (!gpu || !gpu->is_lost) /* else it goes with the process */
		net_free(r->net);
	sampler_done(&r->sampler);
	free(r->velocity);
	free(r->start);
	free(r->seen);
	free(r->words);
}

int train_rank(const struct train_opts *o, struct comm *c, struct train_result *ret, struct err *e)
{
	struct saving saving = {.result = ret ? &ret->saved : NULL,
				.result_arena = ret ? ret->a : NULL};
	struct rank r = {.o = o, .comm = c, .result = ret, .e = e};
	bool has_trained;
	int result;

	if (o->checkpoint)
		r.saving = &saving;
	result = train(&r);
	has_trained = r.step;
	rank_done(&r);
	if (!result && has_trained) {
		result = rank_resume(o, c, &saving, e);
		fault_process(&o->fault, c->rank, FAULT_STEP(FAULT_AT_END));
		result = result || comm_barrier(c, e) ? -1 : 0;
	}
	rank_save_done(&saving, c->rank);
	return result;
}
