/* What training on from a checkpoint came to, and how long a large one would take. */
#include "bench/train/say_checkpoint.h"

#include "lib/core/quote.h"
#include "lib/core/units.h"

#include <math.h>

static const char *const parts[] = {"parameters", "momentum", "running statistics", "samples"};

/* "parameters and momentum" */
static const char *list(struct arena *a, uint32_t set)
{
	const char *said = NULL;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		bool is_last = !(set >> (i + 1));

		if (set >> i & 1)
			said = said ? arena_printf(a, "%s%s%s", said, is_last ? " and " : ", ",
						   parts[i])
				    : parts[i];
	}
	return said ?: "";
}

/* -1: none. */
static int first_lost(const struct run *x)
{
	for (int i = 0; i < x->w->size; i++)
		if (x->res->saved.again[i].lost)
			return i;
	return -1;
}

/* Who took other samples is to blame for what that did to all; else the first that is unlike. */
static int first_unlike(const struct run *x)
{
	const struct saved_again *again = x->res->saved.again;
	int first = -1;

	for (int i = x->w->size - 1; i >= 0; i--)
		if (again[i].unlike)
			first = i;
	for (int i = x->w->size - 1; i >= 0; i--)
		if (again[i].unlike & SAVED_SAMPLES)
			first = i;
	return first;
}

static bool is_fickle(const struct run *x)
{
	const struct train_result *r = x->res;

	return r->repeated && (r->fickle_rank >= 0 || r->unlike_rank >= 0 || r->all_unlike);
}

static void say_same(const struct run *x, struct finding *f)
{
	bool has_stats = x->res->saved.words && x->o->model->graph;

	finding_set(
		f, ST_PASS,
		"from the file of epoch %zu, %zu steps on: parameters%s momentum%s bit-equal to "
		"the run without a break",
		(size_t)x->res->saved.epochs, (size_t)(x->res->total_steps - x->res->saved.steps),
		has_stats ? "," : " and", has_stats ? " and running statistics" : "");
}

static void say_unlike(const struct run *x, struct finding *f, int lost, int unlike)
{
	const struct saved_again *again = x->res->saved.again;
	const struct lines l = say_lines(x);
	const char *checkpoint =
		arena_printf(f->a, " --checkpoint %s", shell_quote(f->a, x->res->saved.folder));

	if (lost >= 0)
		finding_set(f, ST_FAIL, "%s has not loaded what it had saved: it has other %s",
			    say_who(x, lost), list(f->a, again[lost].lost));
	else if (again[unlike].unlike & SAVED_SAMPLES)
		finding_set(f, ST_FAIL,
			    "%s took other samples than in the run without a break: it does not go "
			    "on where it was",
			    say_who(x, unlike));
	else
		finding_set(f, is_fickle(x) ? ST_WARN : ST_FAIL,
			    "%s has other %s than after the run without a break (%.2g away)%s",
			    say_who(x, unlike), list(f->a, again[unlike].unlike), again[unlike].by,
			    is_fickle(x) ? "; but the same steps do not repeat to the bit anyway: "
					   "see train.repeat"
					 : "");
	finding_fix(f, "%s", lines_there(&l, lost >= 0 ? lost : unlike, checkpoint));
}

static void say_not_resumed(const struct run *x)
{
	struct finding *f = say_find(x, "checkpoint.resume", -1);
	uint64_t need = x->res->steps_per_epoch + 1, most = x->o->max_steps;
	bool by_epochs = train_epochs(x->o) < 2, by_steps = !by_epochs || (most && most < need);

	if (!x->res->saved.is_last)
		return; /* what failed before has its own finding, and so has a rank that was lost
			 */
	finding_set(f, ST_SKIP,
		    "not tested: the %zu steps end within the first epoch, and there is none to "
		    "resume",
		    (size_t)x->res->total_steps);
	finding_fix(f, "- %s%s%s, or more", by_epochs ? "--epochs 2" : "",
		    by_epochs && by_steps ? " " : "",
		    by_steps ? arena_printf(f->a, "--steps %zu", (size_t)need) : "");
	report_add(x->r, f);
}

void say_resume(const struct run *x)
{
	struct finding *f;
	int lost, unlike;

	if (!x->res->saved.again) {
		say_not_resumed(x);
		return;
	}
	lost = first_lost(x);
	unlike = first_unlike(x);
	f = say_find(x, "checkpoint.resume", lost >= 0 ? lost : unlike);
	if (lost < 0 && unlike < 0)
		say_same(x, f);
	else
		say_unlike(x, f, lost, unlike);
	finding_expect(f, "the same bits as without a break");
	report_add(x->r, f);
}

/* --- how fast --------------------------------------------------------------------------------- */

const struct checkpoint_deed *say_checkpoint_read(const struct run *x, int rank)
{
	const struct saved_word *w = &x->res->saved.words[rank];

	return x->o->is_sharded && w->peer.state == CHECKPOINT_DONE ? &w->peer : &w->load;
}

uint64_t say_checkpoint_sum(const struct run *x, bool is_read, double *ret_seconds)
{
	int ranks = is_read || x->o->is_sharded ? x->w->size : 1;
	uint64_t bytes = 0;
	double most = 0;

	for (int i = 0; i < ranks; i++) {
		const struct checkpoint_deed *d =
			is_read ? say_checkpoint_read(x, i) : &x->res->saved.words[i].put;

		bytes += d->bytes;
		most = d->seconds > most ? d->seconds : most;
	}
	if (ret_seconds)
		*ret_seconds = most;
	return bytes;
}

static bool is_cached(const struct run *x)
{
	for (int i = 0; i < x->w->size; i++)
		if (say_checkpoint_read(x, i)->is_cached)
			return true;
	return false;
}

int say_checkpoint_readers(const struct run *x)
{
	int n = 0;

	for (int i = 0; i < x->w->size; i++)
		n += say_checkpoint_read(x, i)->state == CHECKPOINT_DONE;
	return n;
}

double say_checkpoint_reading(const struct run *x)
{
	double seconds;
	uint64_t bytes = say_checkpoint_sum(x, true, &seconds);
	int readers = say_checkpoint_readers(x);

	if (!bytes || !(seconds > 0) || !readers)
		return NAN;
	return (double)bytes / seconds / 1e9 / (x->o->is_sharded ? 1 : readers);
}

static const char *reading(const struct run *x, struct arena *a)
{
	double rate = say_checkpoint_reading(x);

	if (isnan(rate))
		return "";
	return arena_printf(a, ", read at %.2f GB/s by %s%s", rate,
			    say_checkpoint_readers(x) == 1 ? "one"
			    : x->o->is_sharded		   ? "all together"
							   : "each",
			    is_cached(x) ? " (some of it from memory, not from the disk)" : "");
}

/* NCCL's watchdog ends a job whose ranks wait longer than that for one that saves. */
static void warn_slow(struct finding *f, double minutes)
{
	static const double TIMEOUT_MIN = 10;
	static const char waits[] =
		"; the other ranks wait for that in a collective, and NCCL's watchdog ends them "
		"after 10 minutes";

	finding_expect(f, "less than PyTorch's timeout of %g minutes", TIMEOUT_MIN);
	if (!(minutes > TIMEOUT_MIN))
		return;
	finding_set(f, ST_WARN, "%s%s", f->message, waits);
	finding_fix(f,
		    "- save sharded and aside "
		    "(torch.distributed.checkpoint.async_save), or allow more: "
		    "init_process_group(timeout=timedelta(minutes=%.0f))",
		    minutes * 2);
}

void say_checkpoint_speed(const struct run *x)
{
	enum { TELLING = 32000000 }; /* of less, it is the first answer that takes the time */
	double seconds, rate, minutes;
	uint64_t bytes = say_checkpoint_sum(x, false, &seconds);
	struct finding *f;

	if (!bytes || !(seconds > 0))
		return;
	rate = (double)bytes / seconds;
	minutes = CHECKPOINT_LARGE_BYTES / rate / 60;
	f = report_find(x->r, "checkpoint.speed", x->res->saved.folder);
	finding_value(f, rate / 1e9, "GB/s");
	if (bytes < TELLING) {
		finding_set(f, ST_INFO,
			    "written at %.2f GB/s%s; too little to say how long a large one takes "
			    "(--checkpoint-size 1G)",
			    rate / 1e9, reading(x, f->a));
	} else {
		finding_set(
			f, ST_INFO,
			"written at %.2f GB/s by %s, with fsync%s; of 7 billion parameters with "
			"Adam's state in float32 (12 bytes each, 84 GB) saving takes %.1f "
			"minutes",
			rate / 1e9, x->o->is_sharded ? "all ranks together" : "rank 0",
			reading(x, f->a), minutes);
		warn_slow(f, minutes);
	}
	report_add(x->r, f);
}
