#ifndef BENCH_TRAIN_CHECKPOINT_FILE_H
#define BENCH_TRAIN_CHECKPOINT_FILE_H
/*
 * One file of a checkpoint: a head, the numbers as a trainer has them, and filler that gives it
 * the size of a real one. It comes to its name as it should: written under another one, synced,
 * renamed, and the folder synced, so that whoever sees the name sees all of it.
 *
 * Nothing here looks at a deadline: it runs aside (checkpoint_disk.h).
 */
#include "lib/core/err.h"

enum checkpoint_part { CHECKPOINT_PARAMS, CHECKPOINT_MOMENTUM, CHECKPOINT_STATS, CHECKPOINT_PARTS };

struct checkpoint_head { /* is written, and hashed, as it is */
	char magic[8];
	uint64_t version, run;		   /* run: of all files of one checkpoint */
	uint64_t rank, ranks, is_sharded;  /* whose, of how many */
	char model[32];			   /* its name, and of how many parameters it is */
	uint64_t nparams, seed;		   /* ... of the whole model */
	uint64_t epoch, step;		   /* how many are done */
	uint64_t floats[CHECKPOINT_PARTS]; /* in this file, in that order */
	uint64_t filler;		   /* bytes behind them */
	double scale;			   /* fp16's loss scaling: see scaler.h */
	uint64_t good, skipped;
	uint64_t data_hash, own_hash; /* of what follows; of the head up to here */
};
enum { CHECKPOINT_HEAD = 4096 }; /* where the numbers begin */

struct checkpoint_pass {			  /* once through a file */
	void (*moved)(void *arg, uint64_t bytes); /* after so many more; NULL: nobody asks */
	void *arg;
	double seconds; /* on the file system alone, with all syncing; not hashing */
	bool is_cached; /* it was read from this machine's memory, as far as we can tell */
	bool is_torn;	/* a test's: a bit of it is another one than was hashed */
};

/* Magic, version, hashes and nothing else are set here. @path is made; @temp is its first name. */
int checkpoint_write(const char *path, const char *temp, struct checkpoint_head *h,
		     const float *const *numbers, struct checkpoint_pass *p,
		     struct err *e) MUST_CHECK;
/*
 * @want: run, rank, ranks, model and so on as they have to be. @to: room for as many numbers as
 * @want has, each NULL: it is only looked at. errno is EBADMSG where it is not what was written.
 */
int checkpoint_read(const char *path, const struct checkpoint_head *want, float *const *to,
		    struct checkpoint_head *ret, struct checkpoint_pass *p,
		    struct err *e) MUST_CHECK;
/* The length of the whole file. */
uint64_t checkpoint_bytes(const struct checkpoint_head *h);

#endif
