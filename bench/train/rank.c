/* One rank from its first words to its last. */
#include "bench/train/rank.h"

#include "bench/train/options.h"
#include "bench/train/random.h"
#include "lib/core/self.h"
#include "lib/core/version.h"
#include "lib/host/processors.h"

#include <fcntl.h>
#include <limits.h>

/* The file itself: two builds of one version differ in the last bits of their results. */
static uint64_t own_program(void)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t hash = 1, words[1024];
	ssize_t n;

	if (fd < 0)
		fd = open(self_path(&a) ?: "", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, words, sizeof(words))) > 0)
		for (ssize_t i = 0; i < n / (ssize_t)sizeof(*words); i++)
			hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
	for (const char *s = WINDSOCK_VERSION; *s; s++)
		hash = random_mix(hash ^ (unsigned char)*s);
	return hash;
}

static struct train_pass own_pass(const struct rank *r)
{
	const struct train_opts *o = r->o;
	AUTO(arena_done) struct arena a = {0};
	struct train_pass p = {.program = own_program(), .data = {1}};
	float pixels[NET_INPUTS];

	p.program += fault_is(&o->fault, FAULT_BUILD, r->comm->rank);
	p.seed = o->seed + fault_is(&o->fault, FAULT_SEED, r->comm->rank);
	options_take(o, p.options);
	if (o->trouble) {
		(void)snprintf(p.trouble, sizeof(p.trouble), "%.255s", o->trouble->msg);
		(void)snprintf(p.remedy, sizeof(p.remedy), "%.255s", err_fix(o->trouble, &a) ?: "");
		return p;
	}
	for (uint64_t i = 0; i < 16 && o->data->is_made; i++) {
		p.data[0] ^= (uint64_t)data_get(o->data, DATA_TRAIN, i, 1, 28, pixels);
		p.data[0] = random_mix(p.data[0] ^ hash_words(pixels, NET_INPUTS));
	}
	for (int i = 0; i < o->data->nfiles; i++)
		p.data[i] = o->data->files[i].hash;
	return p;
}

static const char *odd_data(const struct rank *r, const struct train_pass *a,
			    const struct train_pass *b)
{
	const struct data *d = r->o->data;

	for (int i = 0; i < d->nfiles; i++)
		if (a->data[i] != b->data[i])
			return arena_printf(r->result->a, "data set (%s differs)",
					    d->files[i].name);
	return "data set";
}

static void note_trouble(struct rank *r, int rank, const struct train_pass *pass)
{
	struct arena *a = r->result->a;

	r->result->odd_rank = rank;
	r->result->odd_what = "data set";
	r->result->odd_how = arena_strndup(a, pass->trouble, sizeof(pass->trouble) - 1);
	if (*pass->remedy)
		r->result->odd_remedy = arena_strndup(a, pass->remedy, sizeof(pass->remedy) - 1);
}

static void note_odd(struct rank *r, int rank, const struct train_pass *all)
{
	const struct train_pass *a = &all[rank], *b = &all[0];
	struct arena *arena = r->result->a;
	int option = options_odd(a->options, b->options);

	r->result->odd_rank = rank;
	if (option >= 0)
		r->result->odd_option = arena_printf(
			arena, "%s, rank 0 has %s", options_text(option, a->options[option], arena),
			options_text(option, b->options[option], arena));
	r->result->odd_what = a->program != b->program ? "program"
			      : option >= 0	       ? "options"
			      : a->seed != b->seed     ? "seed"
						       : odd_data(r, a, b);
}

/* Where the program that is another one has to be replaced: its rank tells all others. */
static int tell_path(struct rank *r, int rank)
{
	AUTO(arena_done) struct arena a = {0};
	const char *own = self_path(&a);
	char path[PATH_MAX] = "";
	const struct comm_request q = {.kind = COLL_BROADCAST,
				       .send = path,
				       .recv = path,
				       .count = sizeof(path),
				       .type = DT_UINT8,
				       .root = rank};

	if (r->comm->rank == rank && own && strlen(own) < sizeof(path))
		(void)snprintf(path, sizeof(path), "%s", own);
	if (comm_run(r->comm, &q, r->e))
		return -1;
	if (r->result && *path == '/')
		r->result->odd_path = arena_printf(r->result->a, "%.*s", PATH_MAX - 1, path);
	return 0;
}

static int find_odd(const struct train_pass *all, int n)
{
	if (*all[0].trouble)
		return 0;
	for (int i = 1; i < n; i++)
		if (memcmp(&all[i], &all[0], sizeof(*all)))
			return i;
	return -1;
}

/* Where none can read its data that is no rank's fault: nothing is noted then. */
static void note(struct rank *r, int odd, const struct train_pass *all)
{
	int troubled = 0;

	while (troubled < r->comm->size && *all[troubled].trouble)
		troubled++;
	if (troubled == r->comm->size)
		return;
	if (*all[odd].trouble)
		note_trouble(r, odd, &all[odd]);
	else
		note_odd(r, odd, all);
}

/* *ret_odd: the first rank that is not like rank 0, or has no data; -1: none. */
static int compare_passes(struct rank *r, int *ret_odd)
{
	struct train_pass mine = own_pass(r);
	AUTO_FREE struct train_pass *all = calloc((size_t)r->comm->size, sizeof(*all));

	if (!all)
		return err_sys(r->e, "no memory");
	if (rank_gather(r, &mine, sizeof(mine), all))
		return -1;
	*ret_odd = find_odd(all, r->comm->size);
	if (r->result && *ret_odd >= 0)
		note(r, *ret_odd, all);
	return *ret_odd > 0 && all[*ret_odd].program != all[0].program ? tell_path(r, *ret_odd) : 0;
}

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
	count_steps(r);
	if (r->result) {
		r->result->kernels = kernels;
		r->result->padding = sampler_padding(&r->sampler);
		r->result->dropped = sampler_dropped(&r->sampler);
	}
	return 0;
}

/* Each parameter tells where the engine keeps it. */
static uint64_t own_layout(const struct rank *r)
{
	struct net *n = r->net;
	uint64_t hash = 0;

	for (size_t i = 0; i < n->nparams; i++)
		n->grads[i] = (float)(i & 0xffffff);
	n->grads[0] += fault_is(&r->o->fault, FAULT_LAYOUT, r->comm->rank);
	if (!n->engine->convert(n->whole, n->grads, n->params, false))
		hash = hash_words(n->params, n->nparams);
	memset(n->grads, 0, n->nparams * sizeof(*n->grads));
	memset(n->params, 0, n->nparams * sizeof(*n->params));
	return hash;
}

/* What one broadcasts would be other weights elsewhere. */
static int compare_layouts(struct rank *r, int *ret_odd)
{
	uint64_t mine = r->net->graph ? own_layout(r) : 0;
	AUTO_FREE uint64_t *all = calloc((size_t)r->comm->size, sizeof(*all));

	if (!all)
		return err_sys(r->e, "no memory");
	if (rank_gather(r, &mine, sizeof(mine), all))
		return -1;
	for (int i = r->comm->size - 1; i > 0; i--)
		*ret_odd = all[i] == all[0] ? *ret_odd : i;
	if (r->result && *ret_odd >= 0) {
		r->result->odd_rank = *ret_odd;
		r->result->odd_what = TRAIN_LAYOUT;
	}
	return 0;
}

static int train(struct rank *r)
{
	bool sound = true;
	int odd = -1;

	if (compare_passes(r, &odd))
		return -1;
	if (odd >= 0)
		return 0;
	if (rank_prepare(r) || compare_layouts(r, &odd))
		return -1;
	if (odd >= 0)
		return 0;
	if (rank_warm(r) || rank_broadcast(r))
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
