#include "bench/train/ask.h"

#include <math.h>

enum { BATCH = 32, EXPECT = 90, CHECKPOINT_BYTES = 64 << 20 };
#define RATE 0.02
enum { LARGE_BATCH = 16, LARGE_VALIDATION = 64 }; /* a minute's work is too much */
/* Of one rank's few steps: twice that learns nothing with every third seed. */
#define LARGE_RATE 0.01
/* What is made, unless told: so many samples, and where they would be fewer than so many
 * steps of an epoch, more: with many ranks or a large batch two epochs are too few steps
 * to learn anything, and a verdict about accuracy would be left out. */
enum { STEPS = 32, SAMPLES = 2048, LARGE_STEPS = 8, LARGE_SAMPLES = 256, SAMPLES_MOST = 1 << 22 };

const char *train_ask_typed(const struct train_ask *q, struct arena *a)
{
	static const char *const names[] = {"model",	"side",	      "device",	  "amp",
					    "tf32",	"pattern",    "batch",	  "data",
					    "samples",	"validation", "workers",  "drop-last",
					    "seed",	"lr",	      "momentum", "weight-decay",
					    "lr-every", "lr-gamma",   NULL};
	const struct opt_table t = {train_ask_rows, TRAIN_ASK_NROWS, (void *)(uintptr_t)q};

	return opt_typed(&t, &train_ask_defaults, names, a);
}

/* --- do they fit each other ------------------------------------------------------------ */

static int choose_model(struct train_ask *q, struct err *e)
{
	struct train_opts *t = &q->train;

	t->model = model_find(q->model);
	if (!q->side)
		return 0;
	if (!t->model->graph)
		return err_set(e, ERR_USAGE, "--side: only resnet18 takes images of any size");
	q->resized = *t->model;
	q->resized.side = (int)q->side;
	t->model = &q->resized;
	return 0;
}

static int check_numbers(const struct train_ask *q, struct err *e)
{
	const struct train_opts *t = &q->train;

	if (t->lr <= 0 || t->lr_gamma <= 0)
		return err_set(e, ERR_USAGE, "--lr and --lr-gamma have to be above 0");
	if (t->momentum < 0 || t->momentum >= 1 || t->decay < 0)
		return err_set(e, ERR_USAGE, "--momentum is in [0, 1), --weight-decay at least 0");
	if (q->expect > 100 || (q->expect > 0 && q->expect < 1)) {
		err_set(e, ERR_USAGE, "--expect is a percentage, from 1 to 100 (0: any)");
		return q->expect < 1 ? err_hint(e, "--expect %g", q->expect * 100) : -1;
	}
	if (q->batch && q->global_batch)
		return err_set(e, ERR_USAGE,
			       "--batch is of each rank, --global-batch of all: one of the two");
	return 0;
}

static int check_checkpoint(const struct train_opts *t, struct err *e)
{
	const struct opt_need needs[] = {
		{t->checkpoint_bytes, t->checkpoint, "--checkpoint-size", "--checkpoint"}};

	if (t->checkpoint && !*t->checkpoint)
		return err_set(e, ERR_USAGE, "--checkpoint: name a folder that all ranks share");
	return opt_check_needs(needs, ARRAY_LEN(needs), e);
}

/* Who takes other steps than we would may not learn as fast: what we expect is of ours. */
static double expected(const struct train_ask *q, bool is_usual)
{
	const struct train_opts *t = &q->train;
	bool is_ours = streq(t->data_spec, "synthetic") && !t->model->graph && is_usual;

	return q->expect >= 0 ? q->expect : is_ours ? EXPECT : 0;
}

static bool has_own_drops(const struct train_opts *t)
{
	const struct train_opts *usual = &train_ask_defaults.train;

	return t->lr_every != usual->lr_every || t->lr_gamma < usual->lr_gamma ||
	       t->lr_gamma > usual->lr_gamma;
}

/* What was not said; the learning rate is train_ask_share()'s. */
static void settle(struct train_ask *q)
{
	struct train_opts *t = &q->train;
	bool is_usual = isnan(t->lr) && isnan(t->momentum) && isnan(t->decay) && !has_own_drops(t);
	bool is_made = streq(t->data_spec, "synthetic"), is_large = t->model->graph;

	q->batch = q->batch ? q->batch : is_large ? LARGE_BATCH : BATCH;
	t->asked = q->samples; /* or what train_ask_share() finds */
	t->asked_validation =
		!q->validation && is_large && is_made ? LARGE_VALIDATION : q->validation;
	t->workers = q->workers != TRAIN_NOT_GIVEN ? (unsigned)q->workers : is_made ? 0 : 1;
	t->checkpoint_bytes = t->checkpoint_bytes ?: CHECKPOINT_BYTES;
	t->momentum = isnan(t->momentum) ? TRAIN_MOMENTUM : t->momentum;
	t->decay = isnan(t->decay) ? TRAIN_DECAY : t->decay;
	t->expect = expected(q, is_usual) / 100;
	t->is_expected = q->expect >= 0;
}

int train_ask_check(struct train_ask *q, struct err *e)
{
	struct train_opts *t = &q->train;
	bool by_nccl = streq(t->backend, "nccl");

	t->is_sharded = streq(q->pattern, train_patterns[true]);
	if (choose_model(q, e))
		return -1;
	if (t->is_sharded && by_nccl)
		return err_set(e, ERR_USAGE,
			       "--backend nccl carries gradients of --pattern ddp alone");
	if (check_numbers(q, e) || check_checkpoint(t, e) ||
	    engine_check(&q->engine, by_nccl ? "--backend nccl" : NULL, t->is_sharded, e) ||
	    data_check(t->data_spec, e) || (q->fault && fault_parse(q->fault, &t->fault, e)))
		return -1;
	settle(q);
	return 0;
}

/* --- among how many --------------------------------------------------------------------- */

/* The two nearest global batches that the ranks can share, of those that they can take. */
static int uneven(uint64_t batch, uint64_t ranks, struct err *e)
{
	uint64_t below = batch / ranks * ranks, most = ranks * TRAIN_BATCH_MAX;

	err_set(e, ERR_USAGE, "--global-batch: %zu ranks cannot share %zu sample%s evenly",
		(size_t)ranks, (size_t)batch, batch == 1 ? "" : "s");
	if (!below || below >= most)
		return err_hint(e, "%zu works", (size_t)(below ? most : ranks));
	return err_hint(e, "%zu and %zu work", (size_t)below, (size_t)(below + ranks));
}

/* How many samples to make. */
static size_t enough(const struct train_ask *q, uint64_t ranks)
{
	bool is_large = q->train.model->graph;
	uint64_t least = is_large ? LARGE_SAMPLES : SAMPLES;
	uint64_t n = (uint64_t)(is_large ? LARGE_STEPS : STEPS) * ranks * (uint64_t)q->train.batch;

	n = n > SAMPLES_MOST ? SAMPLES_MOST : n;
	return (size_t)(n < least ? least : n);
}

/* The gradient of fewer samples is noisier: with large steps of it nothing is learned. */
static void set_rate(struct train_opts *t)
{
	int usual = t->model->graph ? LARGE_BATCH : BATCH;

	t->full_lr = t->model->graph ? LARGE_RATE : RATE;
	t->usual_lr = t->full_lr * (t->batch < usual ? (double)t->batch / usual : 1);
	if (isnan(t->lr))
		t->lr = t->usual_lr;
}

/* What depends on the number of ranks. */
int train_ask_share(struct train_ask *q, uint64_t ranks, struct err *e)
{
	uint64_t batch = q->global_batch ? q->global_batch / ranks : q->batch;

	if (q->global_batch % ranks)
		return uneven(q->global_batch, ranks, e);
	if (batch > TRAIN_BATCH_MAX)
		return err_set(e, ERR_USAGE, "a rank takes at most %d samples in a step",
			       TRAIN_BATCH_MAX);
	if (q->train.fault.kind && (uint64_t)q->train.fault.rank >= ranks)
		return err_set(e, ERR_USAGE, "--fault: there is no rank %d of %zu, the last is %zu",
			       q->train.fault.rank, (size_t)ranks, (size_t)ranks - 1);
	if (q->samples && q->samples < ranks)
		return err_set(e, ERR_USAGE, "--samples: %zu ranks need at least one each",
			       (size_t)ranks);
	q->train.batch = (int)batch;
	q->train.batch_is_shared = q->global_batch;
	set_rate(&q->train);
	if (!q->samples && streq(q->train.data_spec, "synthetic"))
		q->train.asked = enough(q, ranks);
	return 0;
}
