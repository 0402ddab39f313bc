#ifndef BENCH_TRAIN_CHECKPOINT_WHY_H
#define BENCH_TRAIN_CHECKPOINT_WHY_H
/* Why nothing could be saved in the folder of a checkpoint, and what to type on that host. All keep
 * errno, which has the reason. */
#include "bench/train/checkpoint_disk.h"

/* It cannot be opened as a folder. */
void checkpoint_why_absent(const char *dir, struct err *e);
/* Something in it could not be made or written, which @e says already; it had @free bytes, and all
 * ranks together were to write @need. */
void checkpoint_why_unwritten(const struct checkpoint_disk *d, uint64_t need, uint64_t free,
			      struct err *e);
/* Whoever asked for it did not come back. */
void checkpoint_why_silent(const struct checkpoint_disk *d, struct err *e);

#endif
