/* ncclbench: how fast are collectives between these ranks, are their results
 * right, and is that normal. */
#include "bench/comm/backend.h"
#include "bench/dev/gpus.h"
#include "bench/inspector/analyze.h"
#include "bench/replay/ask.h"
#include "bench/sweep/asked.h"
#include "cmd/app.h"
#include "lib/core/plugin.h"
#include "lib/core/units.h"
#include "lib/host/places.h"
#include "probes/html/html.h"
#include "probes/log/own.h"

#include <math.h>

struct config {
	struct asked asked; /* what is measured, shown and judged ... */
	struct asked usual; /* as it was before the options */
	struct where where; /* ... between which ranks */
	struct where_role role;
	str_list notes; /* lines for the head of the table */
	char **argv;	/* behind the program's name */
};

static const char about[] =
	"Measures collectives as nccl-tests does, with its flags and its table, and needs neither "
	"MPI nor a GPU to start. Every size is verified, element by element, on every rank; a rank "
	"that dies or hangs is named, and what was finished is printed.\n\n"
	"Without a GPU two local ranks exchange host memory over TCP: that says something about "
	"this machine and nothing about NCCL, and every output says so.";

static const char examples[] =
	"  ncclbench                            # latency and bandwidth, 20 s at most\n"
	"  ncclbench -b 8 -e 1G                 # 28 sizes, doubling\n"
	"  ncclbench -b 1M -e 64M -o all -d all # every type and reduction, verified\n"
	"  ncclbench --hosts a,b -b 8 -e 1G     # between machines, over ssh\n"
	"  ncclbench --serve                    # without ssh: a line to paste there\n"
	"  ncclbench --hosts a,b,c --find-slow  # which node, which link\n"
	"  ncclbench --np 4 --groups 'mod 2'     # groups at once: is one slow?\n"
	"  ncclbench --hosts a,b --for 30m      # burn-in: does it stay right and fast?\n"
	"  ncclbench --json --expect 2          # for a script: exit 1 below 2 GB/s\n"
	"  ncclbench --analyze nccl-tests.log   # is a saved output normal?\n"
	"  nvbandwidth | ncclbench --analyze -  # which GPU, which pair is slow?\n"
	"  ncclbench --analyze nccl-inspector/  # and what NCCL recorded of a training?\n"
	"  ncclbench --replay nccl_trace_rank_* # its collectives: is it the network?\n"
	"  ncclbench --coll alltoall --np 4 -b 1M -e 64M -d bfloat16\n";

static void note(struct app *app, struct config *c, const char *text)
{
	*LIST_ADD(&app->arena, &c->notes) = text;
}

/* --- where: which ranks there are, and what this process is ------------------------------ */

/* Nothing else said: a rank on each GPU here. */
static int count_gpus(struct app *app, struct config *c, struct err *e)
{
	const char *backend = c->asked.flags.backend;
	bool may = streq(backend, "auto") || streq(backend, "nccl");
	struct gpus gpus;

	if (!may || c->asked.replay.n || !where_is_bare(&c->where) || c->role.is_rank)
		return 0;
	if (gpus_look_aside(app->common.deadline_ns, &app->arena, &gpus, e))
		return -1;
	if (gpus.n > 2)
		c->role.size = c->role.here = c->where.bare = (uint64_t)gpus.n;
	return 0;
}

/* -t and -g where somebody else has started all ranks: nobody would multiply them. */
static int check_each(const struct config *c, struct err *e)
{
	if (!c->role.is_rank || c->role.ours || c->where.each == 1)
		return 0;
	err_set(e, ERR_USAGE,
		"-t and -g multiply the ranks that ncclbench starts, and this is one that was "
		"started already");
	return err_hint(e, "start %zu times as many, one for each GPU, and leave them out",
			(size_t)c->where.each);
}

/* As nccl-tests counts; who has typed -g may have meant GPUs. */
static void note_processes(struct app *app, struct config *c)
{
	if (c->asked.groups_given && c->where.each > 1)
		note(app, c,
		     arena_printf(&app->arena,
				  "NCCL_TESTS_SPLIT is of processes, here %zu ranks each (-t, -g); "
				  "--groups is of ranks",
				  (size_t)c->where.each));
}

/* -T */
static int take_timeout(struct config *c, struct err *e)
{
	if (!c->asked.timeout_s)
		return 0;
	if (c->where.deadline_ns)
		return err_set(e, ERR_USAGE,
			       "-T and --deadline are the same, how long is waited without "
			       "progress: leave one of them out");
	c->where.deadline_ns = c->asked.timeout_s * NS_PER_S;
	return 0;
}

static int find_ranks(struct app *app, struct config *c, struct err *e)
{
	struct asked *q = &c->asked;
	bool by_link = c->usual.coll != asked_defaults.coll && !q->flags.pairs && !q->replay.n;
	const struct ask_where in = {
		&c->where,	  &c->role,	   by_link ? c->usual.coll : NULL,
		q->flags.backend, q->groups_given, c->argv};
	const char *crowded;

	c->where.each = q->threads * q->gpus;
	note_processes(app, c);
	if (take_timeout(c, e) || where_role(&c->where, &app->arena, &c->role, e) ||
	    check_each(c, e) || ask_replay_read(q, &c->where, &c->role, &app->arena, e))
		return -1;
	if (q->replay_env && where_is_bare(&c->where))
		c->where.bare = c->role.size;
	crowded = where_deadline(&c->where, &c->role, &app->arena, &app->common.deadline_ns);
	q->job.rank.deadline_ns = app->common.deadline_ns;
	q->job.rank.deadline_given = c->where.deadline_given;
	if (crowded && !c->role.is_rank)
		note(app, c, crowded);
	if (count_gpus(app, c, e) || ask_where(&in, &app->arena, &q->job, e))
		return -1;
	q->job.launch.env = q->replay_env;
	again_where(&c->where, &c->role, &app->arena, &q->job.story.again);
	return 0;
}

/* --- what is said, and by whom ------------------------------------------------------------- */

static void be_silent(struct report_opts *o)
{
	o->format = "table";
	o->output = o->page = NULL;
}

/* Below the table; a document has no place for a drawing. */
static int check_drawing(const struct app *app, const struct verdict_opts *v, struct err *e)
{
	const char *format = app->report_opts.format;

	if (!v->plot_here || renderer_find(format)->answer)
		return 0;
	return err_set(e, ERR_USAGE,
		       "--plot - draws below the table, which --format %s has not: name a file, "
		       "--plot FILE.svg",
		       format);
}

/* What would fail at the end of a long run fails before it. */
static int open_outputs(struct app *app, struct config *c, struct err *e)
{
	const struct verdict_opts *v = &c->asked.job.verdict;
	const char *const written[] = {app->report_opts.output, app->report_opts.page,
				       v->save_baseline, v->nccl_json, v->plot};

	app->report_opts.answer_only = !where_reports(&c->role) || !app->common.quiet;
	if (!where_reports(&c->role))
		return 0;
	app->report_opts.files = v->nccl_json || v->plot || v->save_baseline;
	return check_drawing(app, v, e) || report_check_apart(written, ARRAY_LEN(written), e)
		       ? -1
		       : ask_files(v, &app->arena, e);
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct asked *q = cfg;
	struct config *c = CONTAINER_OF(q, struct config, asked);

	if (report_check_page(q->page, e))
		return -1;
	app->report_opts.page = q->page;
	app->report_opts.draw = html_page;
	app->report_opts.review = own_review;
	if (q->analyze.n && !q->replay.n)
		return asked_alone(q, &c->usual, &c->where, &app->arena, e);
	q->budget_ns = app->common.budget_ns;
	again_words(q, &app->arena, &q->job.story.again);
	if (asked_check(q, &c->usual, &app->arena, e) || find_ranks(app, c, e))
		return -1;
	if (!where_reports(&c->role))
		be_silent(&app->report_opts);
	q->job.verdict.argv = (const char *const *)(void *)c->argv;
	return asked_job(q, &c->role, &app->arena, e) || open_outputs(app, c, e) ? -1 : 0;
}

/* --- what is run ---------------------------------------------------------------------------- */

/* Is there what the ranks need? Those on this host need it here; said once, before they start. */
static int check_backend(struct app *app, struct config *c, struct err *e)
{
	struct ask_flags *f = &c->asked.flags;
	const struct comm_world w = {
		.library = f->library, .registers = (unsigned)f->registers, .stop_fds = {-1, -1}};
	bool are_here = where_is_here(&c->where) && !c->role.ours;

	if (!ask_backend(f->backend, are_here ? &w : NULL, f, &app->arena, &c->notes, e))
		return 0;
	if (!c->role.is_rank || c->role.ours)
		return -1;
	*e = (struct err){0}; /* all hear of it, once they have met */
	return 0;
}

static int run(struct app *app, void *cfg, struct err *e)
{
	struct asked *q = cfg;
	struct config *c = CONTAINER_OF(q, struct config, asked);

	if (q->analyze.n)
		return analyze(q, &app->arena, app->report, e);
	if (where_fits(&c->where, &c->role, backend_links(q->flags.backend, q->flags.sockets), e) ||
	    check_backend(app, c, e))
		return -1;
	note(app, c, NULL);
	q->job.story.notes = c->notes.v;
	return job_run(&q->job, app->report, e);
}

static struct config config = {.where = WHERE_DEFAULTS};
static const struct app_spec spec = {
	.cmd = {.name = "ncclbench",
		.summary = "how fast are collectives between these ranks, and are they right",
		.synopsis = "[OPTIONS]",
		.about = about,
		.environment = WHERE_ENVIRONMENT PLUGIN_ENVIRONMENT LIBRARY_ENVIRONMENT,
		.examples = examples,
		.stray = "a collective goes with --coll, hosts with --hosts, a saved output with "
			 "--analyze"},
	.rows = asked_rows,
	.nrows = ASKED_NROWS,
	.cfg = &config.asked,
	.shared = {where_rows, WHERE_NROWS, &config.where},
	.prepare = prepare,
	.run = run,
	.instead = launch_intercept,
	.failed = where_decline,
};

/* Called through a link named all_reduce_perf it is that test. */
int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "";
	const struct coll *c = strstr(name, "_perf") ? coll_find(name) : NULL;

	config.asked = asked_defaults;
	if (c)
		config.asked.coll = c->name;
	config.usual = config.asked;
	config.argv = argv + 1;
	return app_main(&spec, argc, argv);
}
