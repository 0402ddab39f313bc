#ifndef BENCH_TRAIN_RANK_H
#define BENCH_TRAIN_RANK_H
/* Between rank.c and rank_*.c: one rank, training. */
#include "bench/train/loader.h"
#include "bench/train/overlap.h"
#include "bench/train/saving.h"
#include "bench/train/shards.h"
#include "bench/train/train.h"

struct train_again {	 /* what a rank says of its second time */
	uint64_t step;	 /* the first whose gradient was another one */
	uint64_t parted; /* before which its parameters were others, plus 1; 0: never */
	uint64_t owner;	 /* rank 0, sharded: who keeps those */
	uint64_t exposed_ns, late_ns; /* waiting for the exchange: first, and without overlap */
};

struct rank {
	const struct train_opts *o;
	struct comm *comm;
	struct net *net;
	struct overlap overlap; /* --pattern ddp ... */
	struct shards shards;	/* ... fsdp */
	struct sampler sampler;
	struct train_result *result; /* rank 0 only */
	struct loader *loader;
	uint64_t step, total, proven;
	float *velocity;
	uint32_t *seen; /* per sample, this epoch */
	struct train_word word, *words;
	float *start;			     /* the parameters as they were broadcast */
	uint64_t again[PROVEN_MAX], *hashes; /* of its own gradients: these, or word.grads */
	uint64_t exposed_ns;		     /* of the proven steps; of the repeated ones */
	bool repeating;			     /* the first steps, once more */
	bool is_loaded;			     /* the next batch is in the net already */
	struct saving *saving;		     /* --checkpoint; NULL */
	bool is_resumed;		     /* from that: it did not do the steps before */
	struct err *e;
};
enum { EXTRA = 3 }; /* loss, top1, top5 travel with the first bucket */

/* rank.c: once all are known to be alike; and whatever there is of it */
int rank_prepare(struct rank *r);
void rank_done(struct rank *r);

/* rank_alike.c: *ret_odd is the first rank that is unlike most, or has no data; -1: none is. */
int rank_compare(struct rank *r, int *ret_odd);
/* What one broadcasts would be other weights where the engine keeps them otherwise. */
int rank_compare_layouts(struct rank *r, int *ret_odd);

/* rank_step.c */
int rank_shard(const struct rank *r); /* whose samples it takes: its own */
int rank_broadcast(struct rank *r);
int rank_step(struct rank *r, uint64_t epoch, uint64_t at);
/* All parameters, whoever keeps them, are in the net now. */
int rank_whole(struct rank *r);
void rank_begin_epoch(struct rank *r); /* the sampler has begun it */

/* rank_show.c: what ranks have after the proven steps, as far as it is not all the same */
int rank_show(struct rank *r);

/* warm.c: the first pass on a GPU, which may take long; all wait for all */
int rank_warm(struct rank *r);

/* rank_repeat.c */
int rank_repeat(struct rank *r); /* the proven steps once more: the same bits? */

/* rank_epoch.c */
int rank_gather(struct rank *r, const void *mine, size_t n, void *all);
/* *ret_sound: the ranks still agree and their numbers are finite, so going on makes sense. */
int rank_epoch(struct rank *r, uint64_t number, bool *ret_sound);

#endif
