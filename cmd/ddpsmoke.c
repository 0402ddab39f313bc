/* ddpsmoke: does data-parallel training work end to end, with the right numbers. */
#include "bench/dev/gpus.h"
#include "bench/ranks/mpirun_child.h"
#include "bench/ranks/relay.h"
#include "bench/ranks/where.h"
#include "bench/train/carrier.h"
#include "bench/train/engine_load.h"
#include "bench/train/hear.h"
#include "bench/train/job.h"
#include "bench/train/launch.h"
#include "bench/train/product.h"
#include "bench/train/verdict.h"
#include "cmd/app.h"
#include "lib/core/interrupt.h"
#include "lib/core/plugin.h"

#include <signal.h>

#define NOT_GIVEN UINT64_MAX
enum { BATCH = 32, BATCH_MAX = 4096, EXPECT = 90 };
enum { LARGE_BATCH = 16, LARGE_VALIDATION = 64 }; /* a minute's work is too much */
/* What is made, unless told: so many samples, and where they would be fewer than so many
 * steps of an epoch, more: with many ranks or a large batch two epochs are too few steps
 * to learn anything, and a verdict about accuracy would be left out. */
enum { STEPS = 32, SAMPLES = 2048, LARGE_STEPS = 8, LARGE_SAMPLES = 256, SAMPLES_MOST = 1 << 22 };

struct config {
	const char *model, *pattern, *fault, *plot, *emit;
	uint64_t global_batch, batch, samples, validation, workers, side;
	struct model resized;
	double expect;
	struct engine_choice engine;
	struct where where;
	struct where_role role;
	struct train_opts train;
	struct err sick;     /* the driver, when it was asked for its GPUs: run() says so */
	const char *crowded; /* where that makes deadlines longer; NULL */
	char **argv;
};

#define AT(field) .off = offsetof(struct config, field)
static const char *const patterns[] = {"ddp", "fsdp", NULL};

static const struct opt rows[] = {
	{.help = "What to train"},
	{0, "model", "NAME",
	 "cnn: two convolutions; mlp: two dense layers; resnet18: as in torchvision, by oneDNN",
	 OPT_CHOICE, AT(model), .choices = model_names, .def = "cnn"},
	{0, "side", "PIXELS", "of resnet18's images, which are made so large or small", OPT_UINT,
	 AT(side), .min = 32, .max = NET_SIDE_MAX, .def = "96"},
	{0, "device", "WHAT",
	 "cuda: each rank on its GPU (several may share one), by cuDNN and cuBLAS; cpu; auto: the "
	 "GPU where all ranks have one",
	 OPT_CHOICE, AT(engine.device), .choices = engine_devices, .def = "auto"},
	{0, "amp", "TYPE",
	 "multiply in 16 bits on the GPU, keep parameters in 32: bf16; fp16: with loss scaling",
	 OPT_CHOICE, AT(engine.amp), .choices = engine_precisions, .def = "off"},
	{0, "tf32", NULL,
	 "let the GPU round float32 to 10 bits where it multiplies; off, results compare with a "
	 "CPU's",
	 OPT_BOOL, AT(engine.tf32)},
	{0, "pattern", "HOW",
	 "ddp: all parameters on each rank; fsdp: sharded, gathered layer by layer", OPT_CHOICE,
	 AT(pattern), .choices = patterns, .def = "ddp"},
	{0, "backend", "NAME",
	 "who carries the gradients; auto: nccl between GPUs, else tcp; mpi: whichever started us, "
	 "else mpirun in PATH",
	 OPT_CHOICE, AT(train.backend), .choices = backend_names, .def = "auto"},
	{0, "epochs", "N", "how often to go through the data", OPT_UINT, AT(train.epochs), .min = 1,
	 .max = 1000000000, .def = "2"},
	{0, "steps", "N", "stop after so many steps", OPT_UINT, AT(train.max_steps), .min = 1},
	{0, "batch", "N", "samples per rank and step", OPT_UINT, AT(batch), .min = 1,
	 .max = BATCH_MAX, .def = "32; resnet18: 16"},
	{0, "global-batch", "N", "samples per step of all ranks together, instead of --batch",
	 OPT_UINT, AT(global_batch), .min = 1, .max = UINT32_MAX},
	{0, "data", "SET", "synthetic, or mnist:DIR, cifar10:DIR, stl10:DIR as distributed",
	 OPT_STR, AT(train.data_spec), .complete = OPT_C_DIR, .def = "synthetic"},
	{0, "samples", "N", "use so many of its samples", OPT_UINT, AT(samples), .min = 1,
	 .max = 10000000,
	 .def = "of synthetic 32 steps' in each epoch, at least 2048 (resnet18: 8, 256); else all"},
	{0, "validation", "N", "and so many of those for validation", OPT_UINT, AT(validation),
	 .min = 1, .max = 10000000, .def = "512 of synthetic (resnet18: 64), else 1024"},
	{0, "workers", "N", "threads of each rank that read ahead", OPT_UINT, AT(workers),
	 .max = 64, .def = "0, of files 1"},
	{0, "drop-last", NULL, "drop samples that the ranks cannot share, do not repeat others",
	 OPT_BOOL, AT(train.drop_last)},
	{0, "seed", "N", "of parameters, data and their order", OPT_UINT, AT(train.seed),
	 .def = "0"},

	{.help = "How to train (SGD)"},
	{0, "lr", "X", "learning rate", OPT_DOUBLE, AT(train.lr), .def = "0.02"},
	{0, "momentum", "X", "momentum", OPT_DOUBLE, AT(train.momentum), .def = "0.9"},
	{0, "weight-decay", "X", "weight decay", OPT_DOUBLE, AT(train.decay), .def = "0.0001"},
	{0, "lr-every", "EPOCHS", "multiply the learning rate every so many epochs", OPT_UINT,
	 AT(train.lr_every), .min = 1, .def = "30"},
	{0, "lr-gamma", "X", "by this", OPT_DOUBLE, AT(train.lr_gamma), .def = "0.1"},

	{.help = "What to expect"},
	{0, "expect", "PERCENT", "accuracy on validation data, after 50 steps; 0: any", OPT_DOUBLE,
	 AT(expect), .def = "90 of synthetic, else 0"},
	{.help = "What to make of it"},
	{0, "plot", "FILE", "draw the loss as SVG", OPT_STR, AT(plot), .complete = OPT_C_FILE},
	{0, "emit", "LAUNCHER", "print the command that starts one's own script on these ranks",
	 OPT_CHOICE, AT(emit), .choices = product_launchers},
	{0, "fault", "RANK:KIND", "make a rank do wrong", OPT_STR, AT(fault), .hidden = true},
};

static const char about[] =
	"Trains a small network with data parallelism, as PyTorch's DistributedDataParallel with a "
	"DistributedSampler does, on digits that it makes itself, and proves each part of it: "
	"every rank joined, every sample was seen once, all ranks have the same parameters to the "
	"last bit, and these are what one process gets that does all the work alone. A rank that "
	"computes wrongly, gets wrong data, is slow, dies or hangs is named.\n\n"
	"Alone it starts two ranks on this machine, which says that training works here and "
	"nothing about a network; --hosts, --serve or one's own launcher put ranks on several "
	"hosts. Ranks exchange gradients by NCCL between GPUs, else over TCP, or by the Gloo or "
	"the MPI that is installed. Every output says what it covers.";

static const char examples[] =
	"  ddpsmoke                          # two ranks, a verdict in half a second\n"
	"  ddpsmoke --hosts 'node[1-4]'       # a rank on each, over ssh\n"
	"  ddpsmoke --serve                  # no ssh: a line to type on the other machine\n"
	"  srun -N 4 ddpsmoke                # or torchrun, accelerate, mpirun\n"
	"  ddpsmoke --backend gloo           # the same gradients over another library\n"
	"  ddpsmoke --model resnet18 --data stl10:DIR --plot loss.svg\n"
	"  ddpsmoke --global-batch 256 --np 8 --epochs 5 --lr 0.05\n"
	"  ddpsmoke --json | jq .data.checks # for a script\n";

/* The two nearest global batches that the ranks can share, of those that they can take. */
static int uneven(uint64_t batch, uint64_t ranks, struct err *e)
{
	uint64_t below = batch / ranks * ranks, most = ranks * BATCH_MAX;

	err_set(e, ERR_USAGE, "--global-batch: %zu ranks cannot share %zu sample%s evenly",
		(size_t)ranks, (size_t)batch, batch == 1 ? "" : "s");
	if (!below || below >= most)
		return err_hint(e, "%zu works", (size_t)(below ? most : ranks));
	return err_hint(e, "%zu and %zu work", (size_t)below, (size_t)(below + ranks));
}

static int check_numbers(const struct config *c, struct err *e)
{
	const struct train_opts *t = &c->train;

	if (t->lr <= 0 || t->lr_gamma <= 0)
		return err_set(e, ERR_USAGE, "--lr and --lr-gamma have to be above 0");
	if (t->momentum < 0 || t->momentum >= 1 || t->decay < 0)
		return err_set(e, ERR_USAGE, "--momentum is in [0, 1), --weight-decay at least 0");
	if (c->expect > 100)
		return err_set(e, ERR_USAGE, "--expect is a percentage");
	if (c->batch && c->global_batch)
		return err_set(e, ERR_USAGE,
			       "--batch is of each rank, --global-batch of all: one of the two");
	return 0;
}

/* How many samples to make. */
static size_t enough(const struct config *c, uint64_t ranks)
{
	bool is_large = c->train.model->graph;
	uint64_t least = is_large ? LARGE_SAMPLES : SAMPLES;
	uint64_t n = (uint64_t)(is_large ? LARGE_STEPS : STEPS) * ranks * (uint64_t)c->train.batch;

	n = n > SAMPLES_MOST ? SAMPLES_MOST : n;
	return (size_t)(n < least ? least : n);
}

/* What depends on the number of ranks. */
static int share(struct config *c, uint64_t ranks, struct err *e)
{
	uint64_t batch = c->global_batch ? c->global_batch / ranks : c->batch;

	if (c->global_batch % ranks)
		return uneven(c->global_batch, ranks, e);
	if (batch > BATCH_MAX)
		return err_set(e, ERR_USAGE, "a rank takes at most %d samples in a step",
			       BATCH_MAX);
	if (c->samples && c->samples < ranks)
		return err_set(e, ERR_USAGE, "--samples: %zu ranks need at least one each",
			       (size_t)ranks);
	c->train.batch = (int)batch;
	if (!c->samples && streq(c->train.data_spec, "synthetic"))
		c->train.asked = enough(c, ranks);
	return 0;
}

/* A rank that our launcher started speaks to it; one that is not the first has nothing to say. */
static int set_voice(struct app *app, const struct where_role *role, struct err *e)
{
	if (!role->is_rank)
		return 0;
	if (role->ours) {
		hear_speak();
		app->report_opts.output = NULL;
	}
	if (role->ours || role->rank)
		app->report_opts.format = "json";
	if (!role->rank)
		return 0;
	app->report_opts.output = NULL;
	return hear_nobody(e);
}

/* Nothing else said: a rank on each GPU here, or two on the CPU. */
static void count_gpus(struct app *app, struct config *c)
{
	struct gpus gpus;

	if (c->role.is_rank || !where_is_bare(&c->where) || streq(c->engine.device, "cpu") ||
	    gpus_look_aside(app->common.deadline_ns, &app->arena, &gpus, &c->sick))
		return;
	c->where.bare = (uint64_t)gpus.n;
	c->role.size = gpus.n ? (uint64_t)gpus.n : c->role.size;
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	struct train_opts *t = &c->train;
	bool is_made = streq(t->data_spec, "synthetic"), is_large;

	t->model = model_find(c->model);
	is_large = t->model->graph;
	if (c->side && !is_large)
		return err_set(e, ERR_USAGE, "--side: only resnet18 takes images of any size");
	if (c->side) {
		c->resized = *t->model;
		c->resized.side = (int)c->side;
		t->model = &c->resized;
	}
	if (streq(c->pattern, "fsdp") && streq(t->backend, "nccl"))
		return err_set(e, ERR_USAGE,
			       "--backend nccl carries gradients of --pattern ddp alone");
	if (check_numbers(c, e) ||
	    engine_check(&c->engine, streq(t->backend, "nccl"), streq(c->pattern, "fsdp"), e) ||
	    data_check(t->data_spec, e) || (c->fault && fault_parse(c->fault, &t->fault, e)) ||
	    where_role(&c->where, &app->arena, &c->role, e))
		return -1;
	c->crowded = where_deadline(&c->where, &c->role, &app->arena, &app->common.deadline_ns);
	c->batch = c->batch ? c->batch : is_large ? LARGE_BATCH : BATCH;
	c->engine.rank = c->role.rank;
	count_gpus(app, c);
	app->report_opts.answer_only = c->emit;
	t->asked = c->samples; /* or what share() finds */
	t->asked_validation =
		!c->validation && is_large && is_made ? LARGE_VALIDATION : c->validation;
	t->workers = c->workers != NOT_GIVEN ? (unsigned)c->workers : is_made ? 0 : 1;
	t->expect = (c->expect >= 0 ? c->expect : is_made && !is_large ? EXPECT : 0) / 100;
	t->is_sharded = streq(c->pattern, "fsdp");
	t->deadline_ns = app->common.deadline_ns;
	if ((c->role.size && share(c, c->role.size, e)) ||
	    (c->plot && c->role.rank <= 0 && !c->role.ours &&
	     report_check_folder(&app->arena, c->plot, e)))
		return -1;
	return set_voice(app, &c->role, e);
}

/* TCP connections between two of many ranks: one for data and one for last words. */
static unsigned links(const struct config *c)
{
	return starts_with(c->train.backend, "mpi") || streq(c->train.backend, "gloo") ? 0 : 2;
}

static int launch(struct app *app, struct config *c, struct err *e)
{
	struct launch_opts o;

	if (c->crowded)
		log_say("%s", c->crowded);
	*e = c->sick;
	if (e->kind || where_fits(&c->where, &c->role, links(c), e) ||
	    (where_is_here(&c->where) &&
	     carrier_check(c->train.backend, !streq(c->engine.device, "cpu"), &app->arena, e)) ||
	    where_launch(&c->where, &app->arena, &o, e))
		return -1;
	o.argv = (const char *const *)(void *)c->argv;
	return train_launch(&o, c->train.backend, app->cmd->name, app->report, e);
}

/* What all ranks come to know together, rank 0 says. */
static bool is_common(const struct err *e)
{
	return e->kind == ERR_ABSENT || e->kind == ERR_USAGE || interrupt_pending();
}

static int be_rank(struct app *app, struct config *c, struct err *e)
{
	struct world_opts o = where_world(&c->where);
	struct engine_loaded l = {0};
	const char *lost = NULL;
	struct world_run w = {0};
	int rank, result;

	mpirun_shelter(hear_fd());
	if (c->role.rank >= 0)
		fault_process(&c->train.fault, c->role.rank, FAULT_STEP(FAULT_AT_START));
	c->train.loaded = &l;
	if (engine_load(&c->engine, c->train.model, app->common.deadline_ns, &app->arena, &l, e) &&
	    !c->role.ours)
		*e = (struct err){0}; /* all hear of it, once they have met */
	o.device = l.device ? l.device : "cpu";
	if (e->kind || world_start(&o, &app->arena, &w, e)) {
		if (c->role.ours && !c->role.rank)
			relay_hush();
		*e = l.lacks.kind ? l.lacks : *e;
		return !l.lacks.kind && w.missing && !c->role.ours && !c->role.relayed
			       ? verdict_missing(app->report, c->role.rank, e)
			       : -1;
	}
	rank = rdzv_rank(w.rdzv);
	if (!rank)
		mpirun_heed(hear_fd());
	for (size_t i = 0; !rank && w.notes[i]; i++)
		log_say("%s", w.notes[i]);
	if (rank) /* Ctrl-C reaches all: rank 0 decides what it means and tells the others */
		(void)signal(SIGINT, SIG_IGN);
	result = share(c, (uint64_t)w.world.size, e);
	if (!result)
		result = train_job(&c->train, &w,
				   rank		  ? NULL
				   : c->role.ours ? hear_tell
						  : log_progress,
				   app->report, &lost, e);
	if (!result && !lost)
		result = verdict_share(&w, app->report, e);
	world_stop(&w, result ? e->msg : lost);
	if (rank && c->role.relayed && lost)
		hear_tell_lost(lost); /* who else would? */
	if (result && (rank ? is_common(e) : c->role.ours))
		relay_hush();
	return result;
}

static int make_products(struct app *app, const struct config *c, struct err *e)
{
	const char *text;

	if (c->plot && product_plot(report_data(app->report), c->plot, e))
		return -1;
	if (!c->emit || report_count(app->report, ST_FAIL))
		return 0;
	text = product_emit(report_data(app->report), c->emit, &app->arena);
	cJSON_AddStringToObject(report_data(app->report), "emit", text);
	report_answer(app->report, text, strlen(text));
	return 0;
}

static int run(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;

	if (c->role.is_rank ? be_rank(app, c, e) : launch(app, c, e))
		return -1;
	return c->role.ours || (c->role.is_rank && c->role.rank) ? 0 : make_products(app, c, e);
}

static struct config config = {
	.model = "cnn",
	.pattern = "ddp",
	.engine = {.device = "auto", .amp = "off"},
	.workers = NOT_GIVEN,
	.expect = -1,
	.where = WHERE_DEFAULTS,
	.train = {.data_spec = "synthetic",
		  .backend = "auto",
		  .epochs = 2,
		  .lr = 0.02,
		  .momentum = 0.9,
		  .decay = 1e-4,
		  .lr_every = 30,
		  .lr_gamma = 0.1},
};
static const struct app_spec spec = {
	.cmd = {.name = "ddpsmoke",
		.summary = "does data-parallel training work, with the right numbers",
		.synopsis = "[OPTIONS]",
		.about = about,
		.examples = examples},
	.rows = rows,
	.nrows = ARRAY_LEN(rows),
	.cfg = &config,
	.shared = {where_rows, WHERE_NROWS, &config.where},
	.prepare = prepare,
	.run = run,
	.instead = launch_intercept,
	.failed = where_decline,
};

/* Its ranks are this program, whatever it is called. */
int main(int argc, char **argv)
{
	static char name[] = "ddpsmoke", *none[2];

	config.argv = argc ? argv : none;
	config.argv[0] = name;
	return app_main(&spec, argc, config.argv);
}
