#ifndef BENCH_TRAIN_SAVING_H
#define BENCH_TRAIN_SAVING_H
/*
 * Between rank.c, rank_save.c and rank_resume.c: a checkpoint, by the ranks together. Half of the
 * epochs are trained, the checkpoint is saved, the others are trained; then a trainer that knows
 * nothing takes up the work from the file, and has to come to the same bits.
 *
 *	rank_save_begin()	before the first step: is the folder any good? Else a few steps do
 *	rank_save()		after that epoch
 *	rank_save_end()		after the last: what there is to come to
 *	rank_resume()		with the first trainer gone
 *	rank_save_done()	however it went: nothing is left in the folder
 */
#include "bench/train/saved.h"
#include "bench/train/train.h"

struct rank;

struct saving {
	struct arena a;
	struct checkpoint_disk disk;
	struct checkpoint_head head; /* of its own file */
	struct saved_word word, *words;
	uint64_t run;			    /* the folder's number */
	uint64_t full[CHECKPOINT_PARTS];    /* what this rank loads, so many floats */
	uint64_t at_save[CHECKPOINT_PARTS]; /* hashes of what it has */
	uint64_t at_end[CHECKPOINT_PARTS], shard;
	float *end; /* the parameters then */
	size_t nparams;
	struct saved_result *result; /* rank 0's, in that arena; NULL elsewhere */
	struct arena *result_arena;
	pid_t heir;
	bool is_saved; /* by every rank, and there is something to come to ... */
	bool is_over;  /* ... which is known */
};

int rank_save_begin(struct rank *r);
/* Is it after so many epochs that it is saved? */
bool rank_save_due(const struct rank *r, uint64_t epochs);
int rank_save(struct rank *r, uint64_t epochs);
int rank_save_end(struct rank *r);
int rank_resume(const struct train_opts *o, struct comm *c, struct saving *s, struct err *e);
void rank_save_done(struct saving *s, int rank);

/* Both in rank_save.c: all ranks come to @point, however long one is @doing that; and what each of
 * them has to say so far. */
int rank_save_meet(struct rank *r, const char *point, const char *doing);
int rank_save_tell(struct rank *r);
/* Momentum and what else there is, hashed by part; momentum comes to where it can be read. */
int rank_save_hash(struct rank *r, uint64_t *ret);

#endif
