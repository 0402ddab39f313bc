/* windsock: the whole pre-flight, from interface to training, in one command
 * with one verdict. */
#include "cmd/app.h"
#include "lib/cluster/launch.h"
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/node/facts.h"
#include "probes/preflight/allocation.h"
#include "probes/preflight/diff.h"
#include "probes/preflight/document.h"
#include "probes/preflight/on.h"
#include "probes/preflight/serve.h"

struct config {
	bool quick, full, burst, here, serve;
	uint64_t wait, port;
	const char *hosts, *rsh, *nodes, *page, *baseline, *master;
	str_list same;
	char **argv;
	const char *missing; /* --serve: why nobody ran; NULL: nobody said so */
	const char *from;    /* the scheduler whose job the hosts are of; NULL: they were named */
};

#define AT(field) .off = offsetof(struct config, field)

static const struct opt rows[] = {
	{.help = "How much (without any: about a minute, with collectives and training)"},
	{.name = "quick",
	 .type = OPT_BOOL,
	 AT(quick),
	 .help = "seconds: interface, settings, limits, GPUs, ports"},
	{.name = "full",
	 .type = OPT_BOOL,
	 AT(full),
	 .help = "minutes: every pair of hosts, who is slow, long sweeps, training against "
		 "expectations"},

	{.name = "burst",
	 .type = OPT_BOOL,
	 AT(burst),
	 .help = "with --quick too: a second of work on each GPU, and who is slower than its "
		 "peers"},

	{.help = "Between hosts"},
	{.name = "hosts",
	 .metavar = "HOSTS",
	 .type = OPT_STR,
	 AT(hosts),
	 .complete = OPT_C_HOSTS,
	 .help = "each of these, and what is between them: a list, a Slurm hostlist, a hostfile, "
		 "or the word lab"},
	{.name = "here",
	 .type = OPT_BOOL,
	 AT(here),
	 .help = "this machine alone, also inside a job of Slurm's or PBS's"},
	{.name = "rsh",
	 .metavar = "CMD",
	 .type = OPT_STR,
	 AT(rsh),
	 .env = "WINDSOCK_RSH",
	 .help = "how to reach them, instead of ssh"},
	{.name = "serve",
	 .type = OPT_BOOL,
	 AT(serve),
	 .help = "no ssh: prints the line to paste on the other machines, and waits for them"},
	{.name = "wait",
	 .metavar = "N",
	 .type = OPT_UINT,
	 AT(wait),
	 .min = 1,
	 .max = 4096,
	 .def = "1",
	 .help = "with --serve: so many others join"},
	{.name = "port",
	 .metavar = "PORT",
	 .type = OPT_UINT,
	 AT(port),
	 .min = 1,
	 .max = 65535,
	 .def = "29499",
	 .help = "with --serve: where they join"},
	{.name = "same",
	 .metavar = "PATH",
	 .type = OPT_LIST,
	 AT(same),
	 .complete = OPT_C_FILE,
	 .help = "this file or folder must be alike on every host"},
	{.name = "master",
	 .metavar = "HOST",
	 .type = OPT_STR,
	 AT(master),
	 .env = "MASTER_ADDR",
	 .complete = OPT_C_HOST,
	 .help = "this name must mean one host on all of them (without: the first of --hosts)"},
	{.name = "nodes",
	 .metavar = "DIR",
	 .type = OPT_STR,
	 AT(nodes),
	 .complete = OPT_C_DIR,
	 .help = "write passing_nodes.txt and failing_nodes.txt into DIR"},

	{.help = "Afterwards"},
	{.name = "report",
	 .metavar = "FILE.html",
	 .type = OPT_STR,
	 AT(page),
	 .complete = OPT_C_FILE,
	 .help = "write the whole run as one page: causes, pictures, every measurement"},
	{.name = "baseline",
	 .metavar = "FILE",
	 .type = OPT_STR,
	 AT(baseline),
	 .complete = OPT_C_FILE,
	 .help = "compare with an earlier run: what --json printed or --report wrote"},
};

static const char about[] =
	"A training job needs an interface, settings, limits, GPUs, open ports, working "
	"collectives, and a training loop that computes the same on every rank, in this order. "
	"windsock tests them in this order, by running ifprobe, portcheck, ncclbench and ddpsmoke "
	"and merging what they say. What stands on a failed layer is not tested again: it is \"not "
	"reached because ...\".\n\n"
	"A command that is missing is skipped and said so; one that crashes, hangs or prints junk "
	"is an error of ours (exit 3), never a verdict about the cluster.\n\n"
	"Inside a job of Slurm's or PBS's all its hosts are tested, without --hosts.\n\n"
	"With --budget only what fits is run. What was left out or cut short is skipped and "
	"listed, with a budget that may do; what was tested decides, and only a run that had no "
	"time for anything ends with 3. What came to nothing between hosts in the time that it "
	"takes is a warning: something may hang. What --full adds shares the time that is left.\n\n"
	"--full measures every pair of hosts, and names a host or a link that stands out in two "
	"measurements; sweeps the collectives as far as its time reaches; and trains long enough "
	"to judge accuracy, the pace of each host against the majority, and the whole against what "
	"one rank alone and the measured collectives promise.\n\n"
	"`windsock on HOSTS COMMAND` types a line on many hosts (by --rsh, 32 at a time, each "
	"silent for three times --deadline at most). The last line of each is told, once for all "
	"that say the same (--json has all of it), and those on which it failed are named. The "
	"lines that mend many hosts, which this suite prints, begin with it.\n\n"
	"`windsock join HOST:PORT CODE` makes this machine take part in a run that was begun "
	"elsewhere: with --serve, ncclbench and ddpsmoke print that line, to be pasted on machines "
	"that cannot be reached with ssh.";

static const char examples[] =
	"  windsock                               # this machine, about a minute\n"
	"  windsock --quick                       # this machine, in seconds\n"
	"  windsock --hosts node[1-8]             # every node, and between them\n"
	"  windsock --hosts hostfile --nodes out  # and who passed, as files\n"
	"  windsock --hosts node[1-8] --full      # and who is slow, in minutes\n"
	"  windsock --budget 10s --json           # what fits into ten seconds\n"
	"  srun -N4 -n1 windsock                  # every node of a Slurm job\n"
	"  windsock --hosts hostfile --report report.html\n"
	"  windsock diff monday.json today.json   # what became worse\n"
	"  windsock on 'node[1-8]' 'sudo sysctl -w net.core.somaxconn=65535'\n";

/* Started by the agent of a run that --serve began: one on each machine. */
static bool is_member(void) { return getenv("WINDSOCK_RANK") != NULL; }

/* Only the first of them reports, where the person is. */
static int silence(struct app *app, struct config *c)
{
	if (streq(getenv("WINDSOCK_RANK"), "0"))
		return 0;
	app->report_opts.output = NULL;
	c->page = c->nodes = c->baseline = NULL;
	return freopen("/dev/null", "w", stdout) ? 0 : -1;
}

static bool is_verb(const struct app *app, const char *verb)
{
	return app->operands.n && streq(app->operands.v[0], verb);
}

static int check_verb(const struct app *app, const struct config *c, struct err *e)
{
	bool others = c->hosts || c->here || c->page || c->nodes || c->baseline;

	if (!is_verb(app, "diff") && !is_verb(app, "on"))
		return err_set(e, ERR_USAGE, "'%s' is none of join, diff and on",
			       app->operands.v[0]);
	if (app->operands.n == 3)
		return is_verb(app, "on") ? on_check(app->operands.v[2], others, e) : 0;
	if (is_verb(app, "diff"))
		return err_set(e, ERR_USAGE, "diff takes two runs: OLD NEW");
	err_set(e, ERR_USAGE, "on takes hosts and one command line: HOSTS COMMAND");
	return err_hint(e, "windsock on 'node[1-8]' 'uname -r; uptime'   # quoted, as for ssh");
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	struct allocation job;

	app->report_opts.files = c->page || c->nodes;
	if (app->operands.n && c->serve)
		return err_set(e, ERR_USAGE, "--serve goes without %s", app->operands.v[0]);
	if (app->operands.n)
		return check_verb(app, c, e);
	if (c->quick && c->full)
		return err_set(e, ERR_USAGE, "--quick and --full cannot be combined");
	if (c->serve && (c->hosts || c->here))
		return err_set(e, ERR_USAGE, "--serve goes without --hosts and --here");
	if (c->serve && is_member())
		return silence(app, c);
	if (c->here && c->hosts)
		return err_set(e, ERR_USAGE, "--here and --hosts cannot be combined");
	if (!c->here && !c->hosts && !c->serve) {
		allocation_find(&app->arena, &job);
		c->from = job.scheduler;
		c->hosts = job.hosts;
		c->rsh = c->rsh ? c->rsh : job.rsh;
	}
	if (c->nodes && !c->hosts)
		return err_set(e, ERR_USAGE, "--nodes goes with --hosts");
	return 0;
}

static void delete_doc(cJSON **doc) { cJSON_Delete(*doc); }

/* Its last part is for ending children and writing the report. */
static uint64_t until(uint64_t budget_ns)
{
	uint64_t reserve = budget_ns / 5 < NS_PER_S ? budget_ns / 5 : NS_PER_S;

	return budget_ns ? now_ns() + budget_ns - reserve : 0;
}

/* `windsock diff OLD NEW`; with --report the page of NEW. */
static int run_diff(struct preflight *p, struct app *app, struct err *e)
{
	AUTO(delete_doc) cJSON *old = document_read(app->operands.v[1], p->a, e);
	AUTO(delete_doc) cJSON *now = old ? document_read(app->operands.v[2], p->a, e) : NULL;

	if (!now)
		return -1;
	if (!streq(json_get_str(old, "command") ?: "", json_get_str(now, "command") ?: ""))
		return err_set(e, ERR_USAGE, "%s is a run of %s and %s one of %s",
			       app->operands.v[1], json_get_str(old, "command") ?: "nothing",
			       app->operands.v[2], json_get_str(now, "command") ?: "nothing");
	runs_diff(&p->t, S_BASELINE, old, now);
	tally_emit(&p->t);
	report_covers(p->r, "what differs between the runs of %s and %s",
		      json_get_str(old, "time") ?: "then", json_get_str(now, "time") ?: "now");
	return p->page ? document_write_page(now, p->page, p->a, e) : 0;
}

static int run_on(struct preflight *p, struct app *app, struct err *e)
{
	const struct fanout_opts o = {.rsh = p->rsh, .deadline_ns = 3 * p->deadline_ns};

	if (hosts_from_arg(app->operands.v[1], p->a, &p->hosts, e))
		return -1;
	p->way = (struct host_way){.rsh = p->rsh, .given = app->operands.v[1], .n = p->hosts.n};
	p->t.way = &p->way;
	return on_hosts(&p->t, &p->hosts, app->operands.v[2], &o, e);
}

/* What would fail at the end of a long run fails before it. */
static int check_files(struct preflight *p, const struct config *c, struct err *e)
{
	if (c->page && report_check_folder(p->a, c->page, e))
		return -1;
	if (c->nodes && preflight_check_nodes(p->a, c->nodes, e))
		return -1;
	if (c->baseline)
		p->baseline = document_read(c->baseline, p->a, e);
	return c->baseline && !p->baseline ? -1 : 0;
}

/* --serve: this line runs on each machine, and the first of them answers. */
static bool serve(struct app *app, void *cfg, int *ret_code, struct err *e)
{
	struct config *c = cfg;
	const struct serve_opts o = {.wait = c->wait, .port = c->port, .argv = c->argv};
	AUTO(preflight_done) struct preflight p = {.a = &app->arena};

	return c->serve && !is_member() && !check_files(&p, c, e) &&
	       serve_run(&o, p.a, ret_code, &c->missing, e);
}

/* From here on only --json lists what passed on each. */
enum { MANY = 1024 };

static int run(struct app *app, void *cfg, struct err *e)
{
	const struct config *c = cfg;
	bool people = streq(app->common.format, "table");
	/* a step of CI shows ten annotations, not ten for each host */
	bool fold = people || streq(app->common.format, "github");
	AUTO(preflight_done)
	struct preflight p = {
		.a = &app->arena,
		.r = app->report,
		.t = {.a = &app->arena,
		      .r = app->report,
		      .fold = fold,
		      .terse = people && (c->hosts || c->serve) && !app->common.verbose},
		.tier = c->quick  ? TIER_QUICK
			: c->full ? TIER_FULL
				  : TIER_DEFAULT,
		.deadline_ns = app->common.deadline_ns,
		.budget_ns = app->common.budget_ns,
		.until_ns = until(app->common.budget_ns),
		.given = c->hosts,
		.rsh = c->rsh,
		.nodes_dir = c->nodes,
		.verbose = app->common.verbose,
		.asked = c->here,
		.burst = c->burst,
		.same = c->same,
		.master = c->hosts || c->here ? c->master : NULL,
		.page = c->page,
		.began = facts_clock()};

	if (check_files(&p, c, e))
		return -1;
	if (app->operands.n)
		return is_verb(app, "on") ? run_on(&p, app, e) : run_diff(&p, app, e);
	/* nccl-tests' own: ncclbench refuses to forget it, and here nobody asks for groups */
	(void)unsetenv("NCCL_TESTS_SPLIT");
	(void)unsetenv("NCCL_TESTS_SPLIT_MASK");
	if (c->serve)
		return c->missing ? serve_missing(p.r, c->missing) : serve_member(&p, e);
	if (!c->hosts) {
		/* a child that saw the job would ask all of its hosts */
		(void)unsetenv("SLURM_JOB_NODELIST");
		return preflight_here(&p, e);
	}
	if (hosts_from_arg(c->hosts, p.a, &p.hosts, e))
		return -1;
	/* the children ask the same hosts the same way */
	if (c->rsh && setenv("WINDSOCK_RSH", c->rsh, 1))
		return err_sys(e, "cannot pass --rsh on");
	if (p.hosts.n > MANY && !report_wants_data(p.r) && !p.verbose)
		p.t.terse = true;
	return preflight_hosts(&p, e);
}

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
		(void)allocation_srun(argv + 2, argc - 2, e);
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

static const char *const verbs[] = {"diff", "join", "on", NULL};
static struct config config;
static const struct app_spec spec = {
	.cmd = {.name = "windsock",
		.summary = "is this cluster fit for training, and if not, what must be typed",
		.synopsis = "[OPTIONS]\n[OPTIONS] diff OLD NEW\n[OPTIONS] on HOSTS COMMAND\njoin "
			    "HOST:PORT CODE",
		.operand = "FILE",
		.operand_complete = OPT_C_FILE,
		.verbs = verbs,
		.about = about,
		.examples = examples},
	.rows = rows,
	.nrows = ARRAY_LEN(rows),
	.cfg = &config,
	.prepare = prepare,
	.run = run,
	.instead = is_other,
	.elsewhere = serve,
	.picks = true,
};

int main(int argc, char **argv) { return app_main(&spec, argc, config.argv = argv); }
