#ifndef BENCH_TRAIN_SAVED_H
#define BENCH_TRAIN_SAVED_H
/* What ranks come to know of a checkpoint (--checkpoint): which of them could save, see, read and
 * resume it. */
#include "bench/train/checkpoint_disk.h"

struct saved_word { /* what a rank tells the others; travels as it is */
	struct checkpoint_place place;
	struct checkpoint_deed made;	   /* the folder: rank 0 alone */
	struct checkpoint_deed put;	   /* its own file */
	struct checkpoint_deed look, peer; /* is rank @of's seen, as soon as it is there; read */
	struct checkpoint_deed load;	   /* what it resumes from: rank 0's, or its own shard */
	int32_t of;			   /* a rank of another host, if there is one; -1: none */
	uint32_t uid;			   /* whom the file system asks for rights */
};

/* Sets of things that are not as they were: 1 << enum checkpoint_part, or this. */
enum { SAVED_SAMPLES = 1 << CHECKPOINT_PARTS };
struct saved_again {	 /* a rank, of training on from the file; travels as it is */
	uint32_t lost;	 /* these were not what had been saved, before the first step */
	uint32_t unlike; /* and these not what the run without a break has, after the last */
	double by;	 /* a parameter, at most */
};

struct saved_result { /* rank 0's; in its arena */
	const char *folder;
	const struct saved_word *words;	 /* by rank; NULL: it did not come to it */
	const struct saved_again *again; /* likewise */
	uint64_t epochs, steps;		 /* that were done when it was saved */
	uint64_t bytes;			 /* that were to be written by all */
	bool is_last; /* it was saved after the last epoch: there is nothing to resume */
};

#endif
