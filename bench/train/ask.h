#ifndef BENCH_TRAIN_ASK_H
#define BENCH_TRAIN_ASK_H
/*
 * What a person asks of ddpsmoke: one struct, the table of options that fills it, and the way
 * from there to what is trained. What means the same as it is typed is written into the
 * struct train_opts at once.
 *
 *	.rows = train_ask_rows, .nrows = TRAIN_ASK_NROWS, .cfg = &ask	in the struct app_spec
 *
 *	ask = train_ask_defaults;	before the options are parsed
 *	train_ask_check(&ask, e)	before anybody looks for ranks
 *	train_ask_share(&ask, n, e)	once it is known how many there are
 *
 * Where the ranks are is another table's (bench/ranks/where.h).
 */
#include "bench/train/train.h"
#include "lib/core/opt.h"

#define CHECK_CONTENT "checkpoint.content" /* the longest that --checkpoint has */
#define TRAIN_NOT_GIVEN UINT64_MAX
enum { TRAIN_BATCH_MAX = 4096 };

struct train_ask {
	const char *model, *pattern, *fault;
	uint64_t global_batch, batch, samples, validation, workers, side;
	double expect; /* per cent; below 0: not given */
	struct engine_choice engine;
	const char *plot, *emit; /* what is made of it */
	struct train_opts train;
	struct model resized; /* private: the model, for images of another side */
};

enum { TRAIN_ASK_NROWS = 33 };
extern const struct opt train_ask_rows[TRAIN_ASK_NROWS];
extern const struct train_ask train_ask_defaults;

/* What one rank computes, and of what, as it is typed once more (" --model mlp"): before all else.
 */
const char *train_ask_typed(const struct train_ask *q, struct arena *a);
/* Do the options fit each other? Then what does not depend on the ranks is settled in q->train. */
int train_ask_check(struct train_ask *q, struct err *e) MUST_CHECK;
/* The batch of each rank, and how many samples are made for all; ERR_USAGE where so many ranks
 * cannot share what was asked for. */
int train_ask_share(struct train_ask *q, uint64_t ranks, struct err *e) MUST_CHECK;

#endif
