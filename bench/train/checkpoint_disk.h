#ifndef BENCH_TRAIN_CHECKPOINT_DISK_H
#define BENCH_TRAIN_CHECKPOINT_DISK_H
/*
 * What a rank does in the folder of a checkpoint. A file server that is gone stops whoever asks it,
 * for ever and against all signals: so a child process asks, and is left behind where it does not
 * come back.
 *
 * DIR/ddpsmoke-checkpoint-RUN/rank-00000 and so on: each rank makes its own file, rank 0 the
 * folder, and each removes what it made; who is the last removes the folder.
 */
#include "bench/train/checkpoint_file.h"
#include "lib/core/arena.h"

#include <sys/types.h>

struct checkpoint_place {
	char kind[24], source[96], point[96]; /* of the file system: see mounts.h; "": unknown */
	uint64_t free;			      /* bytes; UINT64_MAX: unknown */
};

enum checkpoint_state { CHECKPOINT_NOT_TRIED, CHECKPOINT_DONE, CHECKPOINT_FAILED };
struct checkpoint_deed { /* how it ended; travels between ranks as it is */
	uint32_t state;
	int32_t why; /* errno. EBADMSG: it is not what was written; ETIMEDOUT: nothing moved */
	int32_t is_unseen; /* it is not there, for this rank */
	int32_t is_cached; /* see struct checkpoint_pass */
	uint64_t bytes;
	double seconds, seen_s;	   /* seen_s: so long it was not seen */
	char said[200], hint[520]; /* of a path that takes the place of a few hundred bytes */
};

struct checkpoint_disk {
	const char *dir;    /* as it was typed */
	const char *folder; /* in that */
	uint64_t silence_ns;
	void (*tell)(const char *what, uint64_t done, uint64_t total); /* in MB; NULL: nobody */
	bool is_stuck;						       /* a test's: it does not
									  come back */
};

const char *checkpoint_folder(const char *dir, uint64_t run, struct arena *a);

/* The folder. */
void checkpoint_make(const struct checkpoint_disk *d, struct checkpoint_place *ret_place,
		     struct checkpoint_deed *ret);
/* The file that @h and @numbers say, once the folder is seen, if need be with less filler. */
void checkpoint_put(const struct checkpoint_disk *d, const struct checkpoint_head *h,
		    const float *const *numbers, bool is_torn, struct checkpoint_place *ret_place,
		    struct checkpoint_deed *ret);
/* Is that file seen? */
void checkpoint_look(const struct checkpoint_disk *d, int rank, struct checkpoint_deed *ret);
/* Reads it. @to is memory that the child shares, or has NULLs: see checkpoint_read(). */
void checkpoint_get(const struct checkpoint_disk *d, const struct checkpoint_head *want,
		    float *const *to, struct checkpoint_head *ret_head,
		    struct checkpoint_deed *ret);
/* Removes what @rank made, and the folder if that was all. False: it did not come to the end. */
bool checkpoint_clear(const struct checkpoint_disk *d, int rank);
/* Somebody who does that should this process end before it does; as heir_start(). */
pid_t checkpoint_heir(const struct checkpoint_disk *d, int rank);

#endif
