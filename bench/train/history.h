#ifndef BENCH_TRAIN_HISTORY_H
#define BENCH_TRAIN_HISTORY_H
/*
 * What rank 0 remembers of a run's steps and epochs. However long it is, this takes no more
 * memory and makes no larger document: of many it keeps the first, the last, and every n-th;
 * what needs all of them is summed up as they come.
 */
#include "lib/core/arena.h"

struct train_word;

enum { HISTORY_STEPS = 4096, HISTORY_EPOCHS = 1024 }; /* at most; beyond, every second ... */

struct train_step {
	uint64_t step, epoch;
	double loss, top1, top5, lr, seconds; /* means over all ranks */
};
struct train_epoch {
	uint64_t number, step; /* the last of it */
	double loss, top1, val_loss, val_top1, val_top5, seconds;
	uint64_t params;	   /* rank 0's hash of them */
	struct train_word *words;  /* one per rank; of the first and the last one only */
	bool whole;		   /* not cut short by max_steps */
	uint64_t missed, repeated; /* samples seen never; times that one was seen again */
	int wrong_shard;	   /* the first rank that took other samples than its own, -1 */
	bool equal;		   /* parameters, on all ranks, bit by bit */
};

struct history {
	LIST(struct train_step) steps; /* number 0, @steps_every, ... */
	LIST(struct train_epoch) epochs;
	uint64_t steps_every, epochs_every;
	uint64_t nsteps, nepochs; /* of all */
	struct train_step last_step;
	struct train_epoch first, last;
	struct train_epoch odd; /* the first whose samples were not what they should have been */
	bool has_odd;
	struct train_step sum; /* of the steps since the last epoch: loss, top1, seconds */
};
/* How one begins. */
#define HISTORY_EMPTY ((struct history){.steps_every = 1, .epochs_every = 1})

void history_step(struct history *h, struct arena *a, const struct train_step *s);
/* Its means are filled in here. */
void history_epoch(struct history *h, struct arena *a, struct train_epoch *ep, bool is_odd);
/* Whether the last is none of those that were kept. */
static inline bool history_adds_step(const struct history *h)
{
	return h->nsteps && (h->nsteps - 1) % h->steps_every;
}
static inline bool history_adds_epoch(const struct history *h)
{
	return h->nepochs && (h->nepochs - 1) % h->epochs_every;
}

#endif
