/* Training is taken up from a checkpoint, by a trainer that has nothing but the file. */
#include "bench/train/random.h"
#include "bench/train/rank.h"

#include <sys/mman.h>

/* Room that a child reads into for us. */
struct room {
	float *p[CHECKPOINT_PARTS];
	size_t bytes;
};

static void room_done(struct room *m)
{
	if (m->p[0])
		(void)munmap(m->p[0], m->bytes);
}

static int room_make(struct room *m, const uint64_t *floats, struct err *e)
{
	void *p;

	for (int i = 0; i < CHECKPOINT_PARTS; i++)
		m->bytes += floats[i] * sizeof(float);
	p = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "no memory for a checkpoint of %zu bytes", m->bytes);
	m->p[0] = p;
	for (int i = 1; i < CHECKPOINT_PARTS; i++)
		m->p[i] = m->p[i - 1] + floats[i - 1];
	return 0;
}

/* --- reading -----------------------------------------------------------------------------------
 */

/* How rank @rank's file has to begin. */
static struct checkpoint_head wanted(const struct rank *r, int rank)
{
	const struct saving *s = r->saving;
	struct checkpoint_head h = s->head;
	bool has_all = r->o->is_sharded || !rank;

	h.rank = (uint64_t)rank;
	for (int i = 0; i < CHECKPOINT_PARTS; i++)
		h.floats[i] = has_all ? s->full[i] : 0;
	return h;
}

/* Another host's first: that is in no memory of this one yet. */
static int read_all(struct rank *r, struct room *m, struct checkpoint_head *ret)
{
	struct saving *s = r->saving;
	int own = r->o->is_sharded ? r->comm->rank : 0, of = s->word.of;
	float *const nowhere[CHECKPOINT_PARTS] = {0};
	struct checkpoint_head want;

	if (of >= 0 && of != own && s->word.look.state == CHECKPOINT_DONE) {
		want = wanted(r, of);
		checkpoint_get(&s->disk, &want, nowhere, ret, &s->word.peer);
	}
	want = wanted(r, own);
	checkpoint_get(&s->disk, &want, m->p, ret, &s->word.load);
	if (of == own)
		s->word.peer = s->word.load;
	return rank_save_meet(r, "ddpsmoke.read", "read the checkpoint") || rank_save_tell(r) ? -1
											      : 0;
}

static bool have_all_read(const struct rank *r)
{
	for (int i = 0; i < r->comm->size; i++)
		if (r->saving->words[i].load.state != CHECKPOINT_DONE)
			return false;
	return true;
}

/* --- and training on -----------------------------------------------------------------------------
 */

static int take(struct rank *r, const struct room *m, const struct checkpoint_head *h)
{
	bool forgets = fault_is(&r->o->fault, FAULT_FORGET, r->comm->rank);
	size_t n = r->saving->full[CHECKPOINT_MOMENTUM];
	float *momentum = m->p[CHECKPOINT_MOMENTUM];

	if (forgets)
		memset(momentum, 0, n * sizeof(*momentum));
	if (r->net->nstats)
		memcpy(r->net->stats, m->p[CHECKPOINT_STATS], r->net->nstats * sizeof(float));
	r->step = h->step;
	if (r->o->is_sharded) {
		shards_resume(&r->shards, m->p[CHECKPOINT_PARAMS], momentum);
	} else {
		memcpy(r->net->params, m->p[CHECKPOINT_PARAMS], r->net->nparams * sizeof(float));
		memcpy(r->velocity, momentum, n * sizeof(float));
	}
	return net_resume(r->net, r->velocity,
			  &(struct scaler){.scale = (float)h->scale,
					   .good = (unsigned)h->good,
					   .skipped = h->skipped},
			  r->e);
}

static uint32_t unlike(const uint64_t *a, const uint64_t *b)
{
	uint32_t set = 0;

	for (int i = 0; i < CHECKPOINT_PARTS; i++)
		set |= (uint32_t)(a[i] != b[i]) << i;
	return set;
}

static int train_on(struct rank *r, uint64_t epoch, struct saved_again *ret)
{
	const struct saving *s = r->saving;
	uint64_t hashes[CHECKPOINT_PARTS];
	bool sound = true;

	if (rank_save_hash(r, hashes))
		return -1;
	ret->lost = unlike(hashes, s->at_save);
	for (; epoch < train_epochs(r->o) && r->step < r->total && sound; epoch++) {
		if (s->disk.tell)
			s->disk.tell("training on from the checkpoint", r->step, r->total);
		if (rank_epoch(r, epoch, &sound))
			return -1;
	}
	if (rank_save_hash(r, hashes))
		return -1;
	ret->unlike = unlike(hashes, s->at_end);
	if (r->word.shard != s->shard)
		ret->unlike |= SAVED_SAMPLES;
	ret->by = train_farthest(r->net->params, s->end, r->net->nparams, NULL);
	return 0;
}

static int resume(struct rank *r, const struct room *m, const struct checkpoint_head *h)
{
	struct saved_again mine = {0}, *all;
	size_t n = (size_t)r->comm->size * sizeof(*all);
	bool is_lost = fault_is(&r->o->fault, FAULT_ORDER, r->comm->rank);

	if (rank_prepare(r) || rank_warm(r) || take(r, m, h))
		return -1;
	r->proven = 0;
	if (train_on(r, is_lost ? h->epoch - 1 : h->epoch, &mine))
		return -1;
	all = arena_alloc(r->saving->result_arena ?: &r->saving->a, n);
	if (rank_gather(r, &mine, sizeof(mine), all))
		return -1;
	if (r->saving->result)
		r->saving->result->again = all;
	return 0;
}

int rank_resume(const struct train_opts *o, struct comm *c, struct saving *s, struct err *e)
{
	struct rank r = {.o = o, .comm = c, .saving = s, .is_resumed = true, .e = e};
	AUTO(room_done) struct room m = {0};
	struct checkpoint_head h;
	int result;

	if (!s->is_over)
		return 0;
	if (room_make(&m, s->full, e) || read_all(&r, &m, &h))
		return -1;
	if (!have_all_read(&r))
		return 0;
	result = resume(&r, &m, &h);
	rank_done(&r);
	return result;
}
