/* The parameters at the start, and one step. */
#include "bench/train/rank.h"

#include "bench/train/random.h"
#include "lib/core/units.h"

int rank_whole(struct rank *r)
{
	return r->o->is_sharded ? shards_gather(&r->shards) : net_fetch(r->net, r->e);
}

/* The parameters at a moment that will be looked at again: they are in the net. */
static void note_params(struct rank *r)
{
	size_t n = r->net->nparams, at = r->step;
	uint64_t *before = r->word.before;

	if (at > r->proven || r->repeating)
		return;
	before[at] = hash_words(r->net->params, n);
	if (r->result && at && before[at] == before[at - 1]) /* the step was left out */
		r->result->noted[at] = r->result->noted[at - 1];
	else if (r->result)
		r->result->noted[at] = memcpy(arena_alloc(r->result->a, n * sizeof(float)),
					      r->net->params, n * sizeof(float));
}

/* Every rank begins differently, so that only the broadcast can make them alike. */
int rank_broadcast(struct rank *r)
{
	const struct comm_request q = {.kind = COLL_BROADCAST,
				       .send = r->net->params,
				       .recv = r->net->params,
				       .count = r->net->nparams,
				       .type = DT_FLOAT};

	net_init(r->net, r->o->seed + (uint64_t)r->comm->rank);
	if (comm_run(r->comm, &q, r->e) || net_store(r->net, r->e))
		return -1;
	memcpy(r->start, r->net->params, r->net->nparams * sizeof(float));
	note_params(r);
	if (r->o->is_sharded)
		shards_take(&r->shards);
	if (r->result)
		r->result->nparams = r->net->nparams;
	return 0;
}

/* Faults do not repeat: steps are counted on. */
static uint64_t fault_step(const struct rank *r)
{
	return r->repeating || r->is_resumed ? r->total + r->step : r->step;
}

static bool keeps_grads(const struct rank *r)
{
	return r->net->there && r->net->there->keeps_grads;
}

/* On a GPU, where they are reduced there, or alone: once all is proven nobody has to see them. */
static void choose_grads(struct rank *r)
{
	bool is_alone = r->comm->size == 1 && r->step >= r->proven && !r->o->fault.kind;

	if (r->net->there)
		r->net->there->keeps_grads = r->overlap.stream || is_alone;
}

/* One number in the GPU's memory as if it were here. */
static int touch(struct rank *r,
		 void (*spoil)(const struct fault *f, int rank, uint64_t step, float *g))
{
	const struct engine_device *d = r->net->engine->device;
	float *at = r->net->there->grads + fault_param(&r->o->fault, r->net->nparams), g;

	if (!r->o->fault.kind)
		return 0;
	if (d->get(&g, at, 1, r->e))
		return -1;
	spoil(&r->o->fault, r->comm->rank, fault_step(r), &g);
	return d->put(at, &g, 1, r->e);
}

/* Is the parameter that a test strikes in that layer? */
static bool is_struck(const struct rank *r, int layer)
{
	size_t at = fault_param(&r->o->fault, r->net->nparams);

	return at >= r->net->first[layer] && at < r->net->first[layer + 1];
}

/* A layer whose gradients the GPU was told to compute. */
static int on_kept(struct rank *r, int layer)
{
	struct net *n = r->net;
	const struct engine_device *d = n->engine->device;
	size_t from = n->first[layer], count = n->first[layer + 1] - from;

	if (is_struck(r, layer) && touch(r, fault_gradient))
		return -1;
	if (count && d->watch(n->there->grads + from, count, r->e))
		return -1;
	if (r->step < r->proven) {
		if (count && d->get(n->grads + from, n->there->grads + from, count, r->e))
			return -1;
		r->hashes[r->step] = train_hash_layer(r->hashes[r->step], n, layer);
	}
	return r->overlap.stream ? overlap_layer(&r->overlap, layer, r->e) : 0;
}

static int on_layer(void *arg, int layer)
{
	struct rank *r = arg;
	struct net *n = r->net;

	if (keeps_grads(r))
		return on_kept(r, layer);
	if (layer >= 0) {
		if (is_struck(r, layer))
			fault_gradient(&r->o->fault, r->comm->rank, fault_step(r),
				       n->grads + fault_param(&r->o->fault, n->nparams));
		if (r->step < r->proven)
			r->hashes[r->step] = train_hash_layer(r->hashes[r->step], n, layer);
		if (r->word.bad_step == NO_STEP && !scaler_is_used(&n->scaler) &&
		    !net_is_finite(n->grads + n->first[layer],
				   n->first[layer + 1] - n->first[layer]))
			r->word.bad_step = r->step;
	}
	if (r->o->is_sharded)
		return shards_reduce(&r->shards, layer);
	return overlap_layer(&r->overlap, layer, r->e);
}

/* As a rank that computes slowly: nothing travels for it, and no statistics move. */
static void dawdle(struct net *n)
{
	int (*before)(void *arg, int part) = n->before;

	n->before = NULL;
	n->is_validating = true;
	for (int i = 0; i < 12; i++)
		(void)net_forward(n);
	n->is_validating = false;
	n->before = before;
}

static struct net_score forward(struct rank *r)
{
	if (fault_is(&r->o->fault, FAULT_SLOW, r->comm->rank))
		dawdle(r->net);
	return net_forward(r->net);
}

static void put_score(struct rank *r, const struct net_score *s)
{
	float *extra = r->net->grads + r->net->nparams, samples = (float)r->net->samples;

	extra[0] = (float)s->loss;
	extra[1] = (float)s->top1 / samples;
	extra[2] = (float)s->top5 / samples;
}

static void note_step(struct rank *r, uint64_t epoch, double seconds)
{
	const float *extra = r->net->grads + r->net->nparams;

	if (!r->result || r->repeating)
		return;
	history_step(&r->result->history, r->result->a,
		     &(struct train_step){r->step, epoch, (double)extra[0], (double)extra[1],
					  (double)extra[2], train_lr(r->o, epoch), seconds});
	if (r->result->progress)
		r->result->progress(r->result);
}

static void note_longest(struct rank *r, double seconds, double data_s)
{
	if (seconds <= r->word.longest_s)
		return;
	r->word.longest_s = seconds;
	r->word.longest_data_s = data_s;
	r->word.longest_step = r->step;
}

int rank_shard(const struct rank *r)
{
	int rank = r->comm->rank;

	return fault_is(&r->o->fault, FAULT_SHARD, rank) ? (rank + 1) % r->comm->size : rank;
}

static size_t own_sample(const void *arg, size_t i)
{
	const struct rank *r = arg;

	return sampler_at(&r->sampler, rank_shard(r), i);
}

void rank_begin_epoch(struct rank *r)
{
	const struct loader_job job = {.part = DATA_TRAIN,
				       .samples = sampler_per_rank(&r->sampler),
				       .at = own_sample,
				       .arg = r};

	loader_start(r->loader, &job);
}

static int load(struct rank *r, uint64_t at)
{
	struct loaded in = loader_next(r->loader);
	const struct model *m = r->net->model;

	fault_batch(&r->o->fault, r->comm->rank);
	if (net_begin(r->net, (int)in.n, r->e))
		return -1;
	for (size_t i = 0; i < in.n; i++) {
		size_t index = own_sample(r, at * (size_t)r->o->batch + i);

		net_put(r->net, (int)i, in.pixels + i * (size_t)(m->channels * m->side * m->side),
			in.labels[i]);
		r->word.shard = random_mix(r->word.shard ^ index);
		r->seen[index]++;
	}
	r->word.samples += in.n;
	r->word.steps++;
	return 0;
}

/* Does the next step of this epoch take as many samples? */
static bool has_like_next(const struct rank *r, uint64_t at)
{
	uint64_t batch = r->o->batch;

	return at + 1 < train_steps_per_epoch(r->o) && r->step + 1 < r->total &&
	       (at + 2) * batch <= sampler_per_rank(&r->sampler) &&
	       (uint64_t)r->net->samples == batch;
}

/*
 * The end of backward. Where a GPU was only told what to do, the next batch is filled in
 * meanwhile: this one has been copied there. *ret_s: how long that took.
 */
static int end_backward(struct rank *r, uint64_t at, double *ret_s)
{
	uint64_t began = now_ns();

	*ret_s = 0;
	if (keeps_grads(r) && r->step >= r->proven && !r->repeating && has_like_next(r, at) &&
	    !net_failure(r->net)) {
		if (load(r, at + 1))
			return -1;
		r->is_loaded = true;
		*ret_s = (double)(now_ns() - began) / 1e9;
	}
	net_backward_end(r->net);
	return net_failure(r->net) ? err_set(r->e, ERR_SYS, "%s", net_failure(r->net)) : 0;
}

static int begin_step(struct rank *r, uint64_t at)
{
	bool is_loaded = r->is_loaded;

	r->is_loaded = false;
	if (r->o->is_sharded && shards_begin(&r->shards))
		return -1;
	return is_loaded ? 0 : load(r, at);
}

/* The averaged gradient that a test strikes: sharded, one of those that this rank keeps. */
static float *struck(struct rank *r)
{
	const struct shards *s = &r->shards;
	uint64_t param = r->o->fault.param;

	if (!r->o->is_sharded)
		return r->net->grads + fault_param(&r->o->fault, r->net->nparams);
	return s->grads + (param < s->first[r->net->nparts] ? param : s->first[r->net->nparts - 1]);
}

/* Of gradients that go to a GPU, or are scaled, others judge: see update(). */
static void look_for_hole(struct rank *r)
{
	const struct shards *s = &r->shards;
	const float *grads = r->o->is_sharded ? s->grads : r->net->grads;
	size_t n = r->o->is_sharded ? s->first[r->net->nparts] : r->net->nparams;

	if (r->word.hole_step == NO_STEP && !scaler_is_used(&r->net->scaler) &&
	    !net_is_finite(grads, n))
		r->word.hole_step = r->step;
}

static int end_exchange(struct rank *r)
{
	float *scores = r->net->grads + r->net->nparams;
	const struct comm_request extra = {.kind = COLL_ALL_REDUCE,
					   .send = scores,
					   .recv = scores,
					   .count = EXTRA,
					   .type = DT_FLOAT,
					   .op = OP_AVG};

	if (r->o->is_sharded) {
		if (comm_start(r->comm, &extra, r->e) || shards_end(&r->shards))
			return -1;
	} else if (overlap_end(&r->overlap, r->e)) {
		return -1;
	}
	if (r->overlap.stream)
		return comm_run(r->comm, &extra, r->e) || touch(r, fault_average) ? -1 : 0;
	fault_average(&r->o->fault, r->comm->rank, fault_step(r), struck(r));
	if (!keeps_grads(r))
		look_for_hole(r);
	return 0;
}

/* A step that fp16's loss scaling left out proves nothing: one more is looked at instead. */
static void count_proven(struct rank *r, bool is_taken)
{
	if (r->step >= r->proven || r->repeating)
		return;
	if (!is_taken && r->proven < PROVEN_MAX && r->proven < r->total &&
	    r->proven < train_steps_per_epoch(r->o))
		r->proven++;
	if (r->result) {
		r->result->proven_steps = r->proven;
		r->result->proven_taken += is_taken;
	}
}

static int update(struct rank *r, uint64_t epoch)
{
	const struct sgd s = train_sgd(r->o, epoch);
	uint64_t skipped = r->net->scaler.skipped;
	bool lost = false;

	if (r->o->is_sharded)
		shards_update(&r->shards, s);
	else if (net_update(r->net, r->velocity, &s, &lost, r->e))
		return -1;
	if (lost && r->word.bad_step == NO_STEP &&
	    (scaler_is_used(&r->net->scaler) || keeps_grads(r)))
		r->word.bad_step = r->step;
	count_proven(r, skipped == r->net->scaler.skipped);
	return 0;
}

int rank_step(struct rank *r, uint64_t epoch, uint64_t at)
{
	double *spent = r->word.seconds;
	uint64_t t[PHASES + 1] = {now_ns()};
	double ahead;
	struct net_score s;

	fault_process(&r->o->fault, r->comm->rank, fault_step(r));
	choose_grads(r);
	r->shards.spent_ns = 0;
	if (begin_step(r, at))
		return -1;
	t[1] = now_ns() - r->shards.spent_ns; /* as if nothing had been exchanged in between */
	s = forward(r);
	put_score(r, &s);
	t[2] = now_ns() - r->shards.spent_ns;
	overlap_begin(&r->overlap, r->overlap.stream ? 0 : EXTRA);
	if (net_backward(r->net, on_layer, r) || end_backward(r, at, &ahead))
		return -1;
	t[3] = now_ns() - r->overlap.spent_ns - r->shards.spent_ns;
	if (end_exchange(r))
		return -1;
	t[4] = now_ns();
	if (update(r, epoch))
		return -1;
	t[5] = now_ns();
	if (r->step < r->proven)
		r->exposed_ns += t[4] - t[3];
	for (int i = 0; i < PHASES; i++)
		spent[i] += (double)(t[i + 1] - t[i]) / 1e9;
	spent[PHASE_DATA] += ahead;
	spent[PHASE_BACKWARD] -= ahead;
	note_longest(r, (double)(t[5] - t[4] + t[3] - t[0]) / 1e9, (double)(t[1] - t[0]) / 1e9);
	note_step(r, epoch, (double)(t[5] - t[0]) / 1e9);
	r->step++;
	if (r->step <= r->proven && rank_whole(r))
		return -1;
	note_params(r);
	return r->step == r->proven && !r->repeating ? rank_show(r) : 0;
}
