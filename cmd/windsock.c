/* windsock: the whole pre-flight, from interface to training, in one command
 * with one verdict. */
#include "cmd/app.h"
#include "lib/cluster/allocation.h"
#include "lib/cluster/launch.h"
#include "lib/cluster/world.h"
#include "lib/core/log.h"
#include "lib/core/plugin.h"
#include "lib/core/units.h"
#include "lib/host/places.h"
#include "probes/html/html.h"
#include "probes/preflight/ask.h"
#include "probes/preflight/serve.h"
#include "probes/preflight/srun.h"
#include "probes/preflight/verb.h"

struct config {
	struct preflight_ask ask;
	char **argv;
	struct serve_missing missing; /* --serve: why nobody ran */
};

static const char about[] =
	"Tests what a training job needs, in the order in which it breaks: interface, settings, "
	"limits, GPUs, ports, collectives, and training that computes the same on every rank. "
	"ifprobe, portcheck, ncclbench and ddpsmoke do the work; their findings become one verdict "
	"and a list of causes, the first one first. What stands on a failed layer is \"not "
	"reached because ...\". A part that crashes, hangs or prints junk is an error of ours "
	"(exit 3), never a verdict about the cluster.\n\n"
	"Inside a job of Slurm's, PBS's, LSF's or Grid Engine's all its hosts are tested, "
	"without --hosts.\n\n"
	"With --budget only what fits is run. What was left out or cut short is skipped and "
	"listed, with a budget that may do; what was tested decides, and a run that had no time "
	"for anything ends with 3. So does one in which something between hosts came to nothing "
	"in the time that it takes, unless something failed: it may hang, and that is no pass. "
	"What --full adds shares the time that is left.\n\n"
	"--full names a host or a link that stands out in two measurements, and trains long enough "
	"to judge accuracy, the pace of each host, and the whole against what one rank alone and "
	"the measured collectives promise.\n\n"
	"`windsock on HOSTS COMMAND` types a line on many hosts, 32 at a time; each may be silent "
	"for three times --deadline. What they say alike is told once, by its last line; more "
	"lines "
	"than one follow below. Those on which it failed are named.\n\n"
	"`windsock join HOST:PORT CODE` takes part in a run that --serve of any command began "
	"elsewhere, and printed this line for.";

static const char examples[] =
	"  windsock                               # this machine, interface to training\n"
	"  windsock --quick                       # this machine, in seconds\n"
	"  windsock --hosts 'node[1-8]'           # every node, and between them\n"
	"  windsock --hosts a,b --copy-self       # nothing is installed there\n"
	"  windsock --hosts hostfile --nodes out  # and who passed, as files\n"
	"  windsock --hosts 'node[1-8]' --full    # and who is slow, in minutes\n"
	"  windsock --budget 10s --json           # what fits into ten seconds\n"
	"  srun -N4 -n1 windsock                  # every node of a Slurm job\n"
	"  windsock --hosts a,b --report r.html   # the whole run as one page\n"
	"  windsock --serve                       # no ssh: a line to paste on the other\n"
	"  windsock diff monday.json today.json   # what became worse\n"
	"  windsock on 'node[1-8]' 'sudo sysctl -w net.core.somaxconn=65535'\n";

/* --- what is asked ------------------------------------------------------------------------ */

/* Started by the agent of a run that --serve began: one on each machine. */
static bool is_member(void) { return getenv("WINDSOCK_RANK") != NULL; }

/* Only the first of them reports, where the person is. */
static int silence(struct app *app, struct preflight_ask *q)
{
	if (streq(getenv("WINDSOCK_RANK"), "0"))
		return 0;
	app->report_opts.output = NULL;
	q->page = q->nodes = q->baseline = NULL;
	return freopen("/dev/null", "w", stdout) ? 0 : -1;
}

/* "on --hosts a,b COMMAND", as the other commands have it. */
static void put_hosts(struct app *app, struct preflight_ask *q)
{
	str_list *words = &app->operands;
	const char *command;

	if (!q->hosts || words->n != 2 || !streq(words->v[0], "on"))
		return;
	command = words->v[1];
	*LIST_ADD(&app->arena, words) = command;
	words->v[1] = q->hosts;
	q->hosts = NULL;
}

static int check_verb(struct app *app, struct preflight_ask *q, struct err *e)
{
	struct verb_options o = {.page = q->page};

	put_hosts(app, q);
	o.others = q->hosts || q->here || q->nodes || q->baseline;
	if (q->serve)
		return err_set(e, ERR_USAGE, "--serve goes without %s", app->operands.v[0]);
	return verb_check(&app->operands, &o, &app->arena, e);
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct preflight_ask *q = cfg;
	const char *const written[] = {app->report_opts.output, q->page};

	app->report_opts.files = q->page || q->nodes;
	if (q->serve && renderer_exit_code(app->report_opts.format, 1, false) != 1)
		return err_set(e, ERR_USAGE,
			       "--serve waits for people; --format %s is for what runs by itself",
			       app->report_opts.format);
	if (report_check_page(q->page, e))
		return -1;
	if (preflight_ask_check(q, e) || hosts_settle(&q->hosts, &app->arena, e) ||
	    report_check_apart(written, ARRAY_LEN(written), e))
		return -1;
	if (app->operands.n)
		return check_verb(app, q, e);
	if (q->serve && is_member() && silence(app, q))
		return -1;
	app->report_opts.page = q->page;
	app->report_opts.draw = html_page;
	if (q->serve && is_member())
		return 0;
	preflight_ask_hosts(q, &app->arena);
	return preflight_ask_alone(q, e);
}

/* --- what is run --------------------------------------------------------------------------- */

/* --serve: this line runs on each machine, and the first of them answers. */
static bool serve(struct app *app, void *cfg, int *ret_code, struct err *e)
{
	struct preflight_ask *q = cfg;
	struct config *c = CONTAINER_OF(q, struct config, ask);
	const struct serve_opts o = {
		.wait = q->wait, .wait_ns = q->wait_ns, .port = q->port, .argv = c->argv};
	AUTO(preflight_done) struct preflight p = {.a = &app->arena};

	return q->serve && !is_member() && !preflight_ask_files(q, &p, e) &&
	       serve_run(&o, p.a, ret_code, &c->missing, e);
}

/* Its last part is for ending children and writing the report. */
static uint64_t until(uint64_t budget_ns)
{
	uint64_t reserve = budget_ns / 5 < NS_PER_S ? budget_ns / 5 : NS_PER_S;

	return budget_ns ? now_ns() + budget_ns - reserve : 0;
}

/* What the run has of the options that every command has. */
static void fill_common(struct app *app, const struct preflight_ask *q, struct preflight *p)
{
	const struct app_common *c = &app->common;
	bool people = streq(c->format, "table");

	p->a = p->t.a = &app->arena;
	p->r = p->t.r = app->report;
	p->t.fold = report_folds(p->r);
	p->tells_next = people && !c->strict;
	p->t.terse = people && (q->hosts || q->serve) && !c->verbose;
	p->deadline_ns = c->deadline_ns;
	p->budget_ns = c->budget_ns;
	p->until_ns = until(c->budget_ns);
	p->verbose = c->verbose;
}

/* Of all ranks that somebody has started the first one of each host says it. */
static void say_started(const struct preflight *p)
{
	struct world w;

	world_from_env(world_own_env, NULL, p->a, &w);
	if (w.size < 2 || w.local_rank > 0)
		return;
	log_say("started as rank %d of %d by %s, and each tests its own host alone: start windsock "
		"once, with --hosts, to test what is between them",
		w.rank, w.size, launcher_name(w.launcher));
}

static int run_here(struct preflight *p, struct err *e)
{
	/* a child that saw the job would ask all of its hosts */
	allocation_forget();
	return preflight_here(p, e);
}

/* From here on only --json lists what passed on each. */
enum { MANY = 1024 };

static int run_hosts(struct preflight *p, struct err *e)
{
	if (hosts_from_arg(p->given, p->a, &p->hosts, e))
		return -1;
	/* the children ask the same hosts the same way */
	if (p->rsh && setenv("WINDSOCK_RSH", p->rsh, 1))
		return err_sys(e, "cannot pass --rsh on");
	if (p->hosts.n > MANY && !report_wants_data(p->r) && !p->verbose)
		p->t.terse = true;
	return preflight_hosts(p, e);
}

static int run(struct app *app, void *cfg, struct err *e)
{
	const struct preflight_ask *q = cfg;
	const struct config *c = CONTAINER_OF(q, struct config, ask);
	AUTO(preflight_done) struct preflight p = {0};

	fill_common(app, q, &p);
	preflight_ask_fill(q, &p);
	if (preflight_ask_files(q, &p, e))
		return -1;
	if (app->operands.n)
		return verb_run(&p, &app->operands, e);
	/* nccl-tests' own: ncclbench refuses to forget it, and here nobody asks for groups */
	(void)unsetenv("NCCL_TESTS_SPLIT");
	(void)unsetenv("NCCL_TESTS_SPLIT_MASK");
	(void)unsetenv("NCCL_TESTS_MIN_BW");
	if (!q->hosts && !q->serve && !q->here)
		say_started(&p);
	(void)setenv(WORLD_NO_RANK, "1", 1); /* nor is a part a rank of the job that started us */
	if (q->serve)
		return c->missing.why ? serve_tell_missing(p.r, &c->missing) : serve_member(&p, e);
	return q->hosts ? run_hosts(&p, e) : run_here(&p, e);
}

/* --- calls that are no run ------------------------------------------------------------------ */

/* Of several tasks of a job step the first speaks for all, unless this one was asked itself. */
static bool is_silent_task(int argc, char **argv)
{
	static const char *const itself[] = {"--here", "--hosts",   "--help",	 "-h",
					     "-V",     "--version", "--generate"};
	struct allocation job;
	struct arena a = {0};

	allocation_find(&a, &job);
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < ARRAY_LEN(itself); k++)
			job.not_first &= !starts_with(argv[i], itself[k]);
	arena_done(&a);
	return job.not_first;
}

/* The words that are no run of ours: join, and how we reach the hosts of a job. */
static bool is_other(int argc, char **argv, int *ret_code, struct err *e)
{
	static char join[] = "--join";

	if (argc > 1 && streq(argv[1], "--srun")) {
		(void)srun_exec(argv + 2, argc - 2, e);
		*ret_code = err_exit_code(e);
		return true;
	}
	if (argc > 2 && streq(argv[1], "join") &&
	    (streq(argv[2], "--help") || streq(argv[2], "-h"))) {
		*ret_code = 0;
		return false;
	}
	if (argc > 1 && streq(argv[1], "join"))
		argv[1] = join;
	if (launch_intercept(argc, argv, ret_code, e))
		return true;
	*ret_code = 0;
	return is_silent_task(argc, argv);
}

static struct config config;
static const struct app_spec spec = {
	.cmd = {.name = "windsock",
		.summary = "is this cluster fit for training, and if not, what must be typed",
		.synopsis = "[OPTIONS]\n[OPTIONS] diff OLD NEW\n[OPTIONS] on HOSTS COMMAND\njoin "
			    "HOST:PORT CODE",
		.operand = "FILE",
		.operand_complete = OPT_C_FILE,
		.verbs = verb_names,
		.line_verb = "on",
		.line_hint = "the command is one word: windsock on HOSTS 'COMMAND %s'",
		.about = about,
		.environment = PLUGIN_ENVIRONMENT LIBRARY_ENVIRONMENT,
		.examples = examples},
	.rows = preflight_ask_rows,
	.nrows = PREFLIGHT_ASK_NROWS,
	.cfg = &config.ask,
	.prepare = prepare,
	.run = run,
	.instead = is_other,
	.elsewhere = serve,
	.picks = true,
};

int main(int argc, char **argv) { return app_main(&spec, argc, config.argv = argv); }
