/* ddpsmoke: does data-parallel training work end to end, with the right numbers. */
#include "bench/comm/backend.h"
#include "bench/dev/gpus.h"
#include "bench/train/ask.h"
#include "bench/train/carrier.h"
#include "bench/train/hear.h"
#include "bench/train/launch.h"
#include "bench/train/member.h"
#include "bench/train/product.h"
#include "cmd/app.h"
#include "lib/core/plugin.h"
#include "lib/host/places.h"
#include "lib/report/json.h"
#include "probes/log/own.h"

struct config {
	struct train_ask ask; /* what is trained ... */
	struct where where;   /* ... by which ranks */
	struct where_role role;
	struct err sick;      /* the driver, when it was asked for its GPUs: run() says so */
	struct member *first; /* rank 0, whose end others wait for; NULL */
	struct verdict verdict;
	const char *crowded; /* where that makes deadlines longer; NULL */
	char **argv;
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
	"  ddpsmoke --serve                  # no ssh: a line to paste on the other\n"
	"  srun -N 4 ddpsmoke                # or torchrun, accelerate, mpirun\n"
	"  ddpsmoke --backend gloo           # the same gradients over another library\n"
	"  ddpsmoke --model resnet18 --data stl10:DIR --plot loss.svg\n"
	"  ddpsmoke --global-batch 256 --np 8 --epochs 5 --lr 0.05\n"
	"  ddpsmoke --checkpoint /mnt/ckpt   # does saving and resuming work there\n"
	"  ddpsmoke --json | jq .data.checks # for a script\n";

/* --- where: which ranks there are, and what this process is -------------------------------- */

/* Nothing else said: a rank on each GPU here, or two on the CPU. */
static void count_gpus(struct app *app, struct config *c)
{
	struct gpus gpus;

	if (c->role.is_rank || !where_is_bare(&c->where) || streq(c->ask.engine.device, "cpu") ||
	    gpus_look_aside(app->common.deadline_ns, &app->arena, &gpus, &c->sick))
		return;
	c->where.bare = (uint64_t)gpus.n;
	c->role.size = gpus.n ? (uint64_t)gpus.n : c->role.size;
}

static int find_ranks(struct app *app, struct config *c, struct err *e)
{
	if (where_role(&c->where, &app->arena, &c->role, e))
		return -1;
	c->crowded = where_deadline(&c->where, &c->role, &app->arena, &app->common.deadline_ns);
	c->ask.train.deadline_ns = app->common.deadline_ns;
	c->ask.train.deadline_given = c->where.deadline_given;
	c->ask.engine.rank = c->role.rank;
	count_gpus(app, c);
	return 0;
}

/* --- what is said, and by whom ------------------------------------------------------------- */

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

/* What would fail at the end of a long run fails before it. */
static int check_plot(struct app *app, const struct config *c, struct err *e)
{
	bool draws = c->ask.plot && where_reports(&c->role);
	const char *const written[] = {app->report_opts.output, c->ask.plot};

	if (!draws)
		return 0;
	return report_check_picture(c->ask.plot, "--plot", e) ||
			       report_check_apart(written, ARRAY_LEN(written), e)
		       ? -1
		       : report_check_folder(&app->arena, c->ask.plot, e);
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct train_ask *q = cfg;
	struct config *c = CONTAINER_OF(q, struct config, ask);

	q->train.typed = train_ask_typed(q, &app->arena);
	if (train_ask_check(q, e) || find_ranks(app, c, e))
		return -1;
	q->train.where = &c->where;
	q->train.is_foreign = c->role.is_rank && !c->role.ours;
	app->report_opts.answer_only = q->emit;
	q->train.emits = q->emit;
	app->report_opts.review = own_review;
	app->report_opts.widest = q->train.checkpoint ? CHECK_CONTENT : NULL;
	if ((c->role.size && train_ask_share(q, c->role.size, e)) || check_plot(app, c, e))
		return -1;
	return set_voice(app, &c->role, e);
}

/* What failed stands above it: else one would look for a line, and find none. */
static int no_line(const struct app *app, const char *launcher)
{
	size_t failed = report_count(app->report, ST_FAIL);

	log_say("no line for %s: %zu check%s failed", launcher, failed, failed == 1 ? "" : "s");
	return 0;
}

static int make_products(struct app *app, const struct train_ask *q, struct err *e)
{
	const char *text;

	if (q->plot && product_plot(report_data(app->report), q->plot, e)) {
		report_file_lost(app->report, "a file was not written");
		return -1;
	}
	if (!q->emit)
		return 0;
	if (report_count(app->report, ST_FAIL))
		return no_line(app, q->emit);
	text = product_emit(report_data(app->report), q->emit, &app->arena);
	cJSON_AddStringToObject(report_data(app->report), "emit", text);
	report_answer(app->report, text, strlen(text));
	return 0;
}

/* --- what is run ---------------------------------------------------------------------------- */

static int launch(struct app *app, struct config *c, struct err *e)
{
	const char *backend = c->ask.train.backend;
	struct launch_opts o;

	if (c->crowded)
		log_say("%s", c->crowded);
	*e = c->sick;
	if (e->kind || where_fits(&c->where, &c->role, backend_links(backend, 0), e) ||
	    (where_is_here(&c->where) && carrier_check(backend, &app->arena, e)))
		return -1;
	where_launch(&c->where, &o);
	o.argv = (const char *const *)(void *)c->argv;
	return train_launch(&o, backend, app->cmd->name, app->report, e);
}

static int be_rank(struct app *app, struct config *c, struct err *e)
{
	const struct member_opts o = {.ask = &c->ask, .where = &c->where, .role = &c->role};

	return member_run(&o, &app->arena, app->report, &c->first, e);
}

/* What was interrupted is drawn as far as it came. */
static void draw_rest(struct app *app, const struct train_ask *q)
{
	const cJSON *data = report_data(app->report);
	struct err e = {0};

	if (q->plot && cJSON_GetArraySize(json_get(data, "steps")) &&
	    product_plot(data, q->plot, &e))
		log_warn("%s", e.msg);
}

static int run(struct app *app, void *cfg, struct err *e)
{
	struct train_ask *q = cfg;
	struct config *c = CONTAINER_OF(q, struct config, ask);
	int result = 0;

	if (c->role.is_rank ? be_rank(app, c, e) : launch(app, c, e)) {
		if (where_reports(&c->role))
			draw_rest(app, q);
		return -1;
	}
	if (!c->role.ours && !(c->role.is_rank && c->role.rank))
		result = make_products(app, q, e);
	c->verdict.failed = (uint32_t)report_count(app->report, ST_FAIL);
	c->verdict.warned = (uint32_t)report_count(app->report, ST_WARN);
	return result;
}

static void ended(void *cfg, int code, const struct err *e)
{
	struct train_ask *q = cfg;
	struct config *c = CONTAINER_OF(q, struct config, ask);

	if (!c->first)
		return;
	c->verdict.code = (uint32_t)code;
	(void)snprintf(c->verdict.said, sizeof(c->verdict.said), "%.190s", e->msg);
	member_end(c->first, &c->verdict);
}

static struct config config = {.where = WHERE_DEFAULTS};
static const struct app_spec spec = {
	.cmd = {.name = "ddpsmoke",
		.summary = "does data-parallel training work, with the right numbers",
		.synopsis = "[OPTIONS]",
		.about = about,
		.environment = WHERE_ENVIRONMENT PLUGIN_ENVIRONMENT LIBRARY_ENVIRONMENT,
		.examples = examples,
		.stray = "hosts go with --hosts; it trains a network of its own (--model); how to "
			 "start yours: --emit torchrun"},
	.rows = train_ask_rows,
	.nrows = TRAIN_ASK_NROWS,
	.cfg = &config.ask,
	.shared = {where_rows, WHERE_NROWS, &config.where},
	.prepare = prepare,
	.run = run,
	.ended = ended,
	.instead = launch_intercept,
	.failed = where_decline,
};

/* Its ranks are this program, whatever it is called. */
int main(int argc, char **argv)
{
	static char name[] = "ddpsmoke", *none[2];

	config.ask = train_ask_defaults;
	config.argv = argc ? argv : none;
	config.argv[0] = name;
	config.ask.train.argv = (const char *const *)(void *)config.argv;
	return app_main(&spec, argc, config.argv);
}
