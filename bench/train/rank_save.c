/* A checkpoint is saved by all ranks, each on its host, and each says how that went. */
#include "bench/train/patience.h"
#include "bench/train/random.h"
#include "bench/train/rank.h"
#include "lib/core/heir.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

#include <errno.h>
#include <limits.h>
#include <sys/random.h>

static const uint64_t AT_LEAST_NS = 60 * NS_PER_S; /* a busy file server is silent for long */
static const uint64_t BRIEF_NS = 2 * NS_PER_S; /* where it has been silent for too long already */
static const uint64_t FOR_EVER_NS = 86400 * NS_PER_S; /* each rank has a deadline of its own */

int rank_save_meet(struct rank *r, const char *point, const char *doing)
{
	const struct patience p = {.rdzv = r->o->rdzv,
				   .point = point,
				   .doing = doing,
				   .ns = FOR_EVER_NS,
				   .rank = r->comm->rank,
				   .size = r->comm->size};
	int late;

	if (!patience_wait(&p, &late, r->e))
		return 0;
	return late < 0 ? -1
			: err_set(r->e, ERR_SYS, "rank %d (%.60s) did not %s within a day", late,
				  comm_peer(r->comm, late)->host, doing);
}

int rank_save_tell(struct rank *r)
{
	struct saving *s = r->saving;
	size_t n = (size_t)r->comm->size * sizeof(*s->words);

	if (!s->words)
		s->words = arena_alloc(&s->a, n);
	if (rank_gather(r, &s->word, sizeof(s->word), s->words))
		return -1;
	if (s->result)
		s->result->words = memcpy(arena_alloc(s->result_arena, n), s->words, n);
	return 0;
}

/* --- what there is to save ------------------------------------------------------------------- */

static uint64_t epochs_of(const struct rank *r)
{
	uint64_t each = train_steps_per_epoch(r->o);

	return (r->total + each - 1) / each;
}

bool rank_save_due(const struct rank *r, uint64_t epochs)
{
	uint64_t half = epochs_of(r) / 2;

	return r->saving && r->saving->word.made.state == CHECKPOINT_DONE &&
	       epochs == (half ? half : 1);
}

/* As this rank has them: all, or its shard. */
static void parts(const struct rank *r, const float **ret, uint64_t *ret_n)
{
	bool is_sharded = r->o->is_sharded;
	uint64_t n = is_sharded ? r->shards.first[r->net->nparts] : r->net->nparams;

	ret[CHECKPOINT_PARAMS] = is_sharded ? r->shards.params : r->net->params;
	ret[CHECKPOINT_MOMENTUM] = is_sharded ? r->shards.velocity : r->velocity;
	ret[CHECKPOINT_STATS] = r->net->stats;
	ret_n[CHECKPOINT_PARAMS] = ret_n[CHECKPOINT_MOMENTUM] = n;
	ret_n[CHECKPOINT_STATS] = r->net->nstats;
}

int rank_save_hash(struct rank *r, uint64_t *ret)
{
	const float *v[CHECKPOINT_PARTS];
	uint64_t n[CHECKPOINT_PARTS];

	if (net_fetch_velocity(r->net, r->velocity, r->e))
		return -1;
	parts(r, v, n);
	for (int i = 0; i < CHECKPOINT_PARTS; i++)
		ret[i] = hash_words(v[i], n[i]);
	return 0;
}

/* With ddp rank 0 saves all; what the others write only shows that they can. */
static void make_head(struct rank *r, uint64_t run, uint64_t epochs)
{
	struct saving *s = r->saving;
	const struct train_opts *o = r->o;
	uint64_t ranks = (uint64_t)r->comm->size, own = 0, share = o->checkpoint_bytes;
	struct checkpoint_head *h = &s->head;
	const float *v[CHECKPOINT_PARTS];

	parts(r, v, s->full);
	for (int i = 0; i < CHECKPOINT_PARTS; i++)
		own += s->full[i] * sizeof(float);
	if (o->is_sharded)
		share /= ranks;
	*h = (struct checkpoint_head){.run = run,
				      .rank = (uint64_t)r->comm->rank,
				      .ranks = ranks,
				      .is_sharded = o->is_sharded,
				      .nparams = r->net->nparams,
				      .seed = o->seed,
				      .epoch = epochs,
				      .step = r->step,
				      .scale = (double)r->net->scaler.scale,
				      .good = r->net->scaler.good,
				      .skipped = r->net->scaler.skipped};
	(void)snprintf(h->model, sizeof(h->model), "%s", o->model->name);
	s->nparams = r->net->nparams;
	if (!o->is_sharded && r->comm->rank)
		return;
	memcpy(h->floats, s->full, sizeof(h->floats));
	h->filler = share > own ? share - own : 0;
}

/* --- together ----------------------------------------------------------------------------------
 */

static const char *absolute(const char *dir, struct arena *a)
{
	char at[PATH_MAX];

	return *dir == '/' || !getcwd(at, sizeof(at)) ? dir : arena_printf(a, "%s/%s", at, dir);
}

static void begin(struct rank *r)
{
	struct saving *s = r->saving;
	const struct train_opts *o = r->o;

	s->disk = (struct checkpoint_disk){
		.dir = absolute(o->checkpoint, &s->a),
		.silence_ns = o->deadline_given || o->deadline_ns > AT_LEAST_NS ? o->deadline_ns
										: AT_LEAST_NS,
		.tell = s->result ? o->tell : NULL,
		.is_stuck = fault_is(&o->fault, FAULT_STUCK, r->comm->rank)};
	s->word.uid = (uint32_t)geteuid();
	s->word.of = -1;
}

static uint64_t new_run(void)
{
	uint64_t run = 0;

	if (getrandom(&run, sizeof(run), GRND_NONBLOCK) != sizeof(run))
		run = random_mix(now_ns() ^ (uint64_t)getpid() << 32);
	return run;
}

/* Rank 0's name for it, which it has made; or why not. A relative one is where rank 0 was started:
 * others may begin elsewhere, such as in the folder where ssh leaves them. */
static int make_folder(struct rank *r, uint64_t *ret_run)
{
	struct saving *s = r->saving;
	struct {
		uint64_t run;
		struct checkpoint_deed made;
		char dir[PATH_MAX];
	} all = {.run = new_run()};
	const struct comm_request q = {.kind = COLL_BROADCAST,
				       .send = &all,
				       .recv = &all,
				       .count = sizeof(all),
				       .type = DT_UINT8};

	if (!r->comm->rank) {
		s->disk.folder = checkpoint_folder(s->disk.dir, all.run, &s->a);
		s->heir = checkpoint_heir(&s->disk, 0);
		checkpoint_make(&s->disk, &s->word.place, &all.made);
		s->word.made = all.made;
		(void)snprintf(all.dir, sizeof(all.dir), "%s", s->disk.dir);
	}
	if (rank_save_meet(r, "ddpsmoke.made", "make a folder for the checkpoint") ||
	    comm_run(r->comm, &q, r->e))
		return -1;
	*ret_run = all.run;
	if (!r->comm->rank)
		return 0;
	s->word.made = all.made;
	if (*r->o->checkpoint != '/')
		s->disk.dir = arena_printf(&s->a, "%.*s", PATH_MAX - 1, all.dir);
	s->disk.folder = checkpoint_folder(s->disk.dir, all.run, &s->a);
	s->heir = checkpoint_heir(&s->disk, r->comm->rank);
	return 0;
}

/* Whose file is looked at besides: the next rank's that is not on this host, else the next one's.
 */
static int other(const struct rank *r)
{
	int n = r->comm->size, me = r->comm->rank;
	const struct comm_peer *own = comm_peer(r->comm, me);

	for (int i = 1; i < n; i++) {
		const struct comm_peer *p = comm_peer(r->comm, (me + i) % n);

		if (!p->same_machine || !streq(p->host, own->host))
			return (me + i) % n;
	}
	return n > 1 ? (me + 1) % n : -1;
}

static void note(struct rank *r, uint64_t epochs)
{
	const struct saving *s = r->saving;
	struct saved_result *res = s->result;

	if (!res)
		return;
	res->folder = arena_strdup(s->result_arena, s->disk.dir);
	res->epochs = epochs;
	res->steps = r->step;
	res->is_last = r->step >= r->total;
	res->bytes = checkpoint_bytes(&s->head) * (r->o->is_sharded ? (uint64_t)r->comm->size : 1);
}

static bool all_have(const struct rank *r)
{
	for (int i = 0; i < r->comm->size; i++)
		if (r->saving->words[i].put.state != CHECKPOINT_DONE && (r->o->is_sharded || !i))
			return false;
	return true;
}

/* A folder that is no good is known before the first step, not after all of a long run: some steps
 * are enough for what else there is to prove. */
int rank_save_begin(struct rank *r)
{
	enum { ENOUGH = 64 };
	struct saving *s = r->saving;

	begin(r);
	if (make_folder(r, &s->run))
		return -1;
	if (s->word.made.state == CHECKPOINT_DONE)
		return 0;
	r->total = r->total > ENOUGH ? ENOUGH : r->total;
	make_head(r, s->run, 0);
	note(r, 0);
	return rank_save_tell(r);
}

int rank_save(struct rank *r, uint64_t epochs)
{
	struct saving *s = r->saving;
	const float *v[CHECKPOINT_PARTS];
	uint64_t n[CHECKPOINT_PARTS];

	if (rank_save_hash(r, s->at_save))
		return -1;
	make_head(r, s->run, epochs);
	note(r, epochs);
	parts(r, v, n);
	checkpoint_put(&s->disk, &s->head, v, fault_is(&r->o->fault, FAULT_TORN, r->comm->rank),
		       &s->word.place, &s->word.put);
	if (rank_save_meet(r, "ddpsmoke.put", "write its part of the checkpoint") ||
	    rank_save_tell(r))
		return -1;
	s->is_saved = all_have(r) && r->step < r->total;
	s->word.of = other(r);
	if (s->word.of >= 0 && s->word.put.state == CHECKPOINT_DONE &&
	    s->words[s->word.of].put.state == CHECKPOINT_DONE)
		checkpoint_look(&s->disk, s->word.of, &s->word.look);
	return rank_save_meet(r, "ddpsmoke.look", "see another rank's file") || rank_save_tell(r)
		       ? -1
		       : 0;
}

int rank_save_end(struct rank *r)
{
	struct saving *s = r->saving;
	size_t bytes = r->net->nparams * sizeof(float);

	if (!s || !s->is_saved)
		return 0;
	s->is_over = true;
	s->end = malloc(bytes);
	if (!s->end)
		return err_sys(r->e, "no memory for %zu parameters", r->net->nparams);
	memcpy(s->end, r->net->params, bytes);
	s->shard = r->word.shard;
	return rank_save_hash(r, s->at_end);
}

static bool is_dead(const struct saving *s)
{
	const struct checkpoint_deed *deeds[] = {&s->word.made, &s->word.put, &s->word.look,
						 &s->word.peer, &s->word.load};

	for (size_t i = 0; i < ARRAY_LEN(deeds); i++)
		if (deeds[i]->state == CHECKPOINT_FAILED && deeds[i]->why == ETIMEDOUT)
			return true;
	return false;
}

/* What is interrupted does not wait for a file system: its heir does that, and what was cut off. */
void rank_save_done(struct saving *s, int rank)
{
	if (is_dead(s))
		s->disk.silence_ns = BRIEF_NS;
	if (s->heir && !interrupt_pending() && checkpoint_clear(&s->disk, rank))
		heir_end(s->heir);
	free(s->end);
	arena_done(&s->a);
}
