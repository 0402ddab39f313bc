/* ncclwhy: what does this failure log mean, and what do I type now. */
#include "cmd/app.h"
#include "lib/cluster/launch.h"
#include "lib/core/file.h"
#include "lib/core/interrupt.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "probes/log/afar.h"
#include "probes/log/aloud.h"
#include "probes/log/confirm.h"
#include "probes/log/live.h"
#include "probes/log/look.h"
#include "probes/log/named.h"
#include "probes/log/source.h"
#include "probes/log/tell.h"
#include "probes/log/wrapped.h"
#include "probes/stacks/stacks.h"

struct config {
	bool follow, confirm;
	bool is_bare; /* -- with nothing behind it */
	const char *live, *stacks, *look, *hosts, *rsh, *save;
	pid_t below; /* --stacks=PID; 0: all of this host */
	bool copy_self, keep;
	host_list named;
	uint64_t stall_ns;
	struct wrapped command; /* after -- */
	struct aloud aloud;
};

#define STALL_NS (300 * NS_PER_S)
#define AT(field) .off = offsetof(struct config, field)

static const char own_host[] = "localhost"; /* --live alone */

static const struct opt rows[] = {
	{.help = "What to read (without any: stdin)"},
	{.name = "follow",
	 .type = OPT_BOOL,
	 AT(follow),
	 .help = "go on reading a log that grows, and say on stderr what it means as soon as it "
		 "is known; Ctrl-C ends it"},
	{.name = "live",
	 .metavar = "HOST[:PORT]",
	 .type = OPT_STR,
	 AT(live),
	 .if_bare = own_host,
	 .complete = OPT_C_HOST,
	 .help = "ask a running job (NCCL 2.24 and later) which ranks are dead, missing or behind"},
	{.name = "stacks",
	 .metavar = "PID",
	 .type = OPT_STR,
	 AT(stacks),
	 .if_bare = "all",
	 .help = "look where each rank of a running job stands: the Python stacks of all ranks, "
		 "compared; of this process and what it started, or all of this host, or of "
		 "--hosts"},
	{.help = "How to look"},
	{.name = "confirm",
	 .type = OPT_BOOL,
	 AT(confirm),
	 .help = "look on this host for what the causes claim, and rank them again"},
	{OPT_HOSTS("read the files, in quotes, on each of these hosts, where they lie; with "
		   "--confirm or --stacks: look on them instead of here"),
	 AT(hosts)},
	{OPT_RSH, AT(rsh)},
	{OPT_COPY_SELF, AT(copy_self)},
	{OPT_KEEP, AT(keep)},
	{.name = "save",
	 .metavar = "FOLDER",
	 .type = OPT_STR,
	 AT(save),
	 .complete = OPT_C_DIR,
	 .help = "with --hosts: keep what was read of the hosts in this new folder"},
	{.name = "look",
	 .metavar = "ID[:PORT],...",
	 .type = OPT_STR,
	 AT(look),
	 .help = "read no log: look on this host for what these causes claim (--confirm --hosts "
		 "asks each host this)"},
	{.name = "stall",
	 .metavar = "TIME",
	 .type = OPT_DURATION,
	 AT(stall_ns),
	 .max = 7 * 24 * 3600 * NS_PER_S,
	 .def = "5m",
	 .help = "with -- or --follow: explain when nothing was printed for this long; 0 never "
		 "does"},
};

static const char about[] =
	"Paste the log of a failed or hanging training job and get the cause and what to type: "
	"NCCL_DEBUG output, PyTorch, torchrun and accelerate, Slurm, MPI and kernel lines, from "
	"one rank or from thousands, mixed, coloured, gigabytes long. The first cause is told from "
	"its louder echoes, and ranks are compared.\n\n"
	"Where the log has NCCL's own lines (NCCL_DEBUG=INFO) it is also told what NCCL set up, "
	"failure or not: the interface to meet over, the network and its cards, the ways of the "
	"channels with GPUDirect or without, NVLink, the time that starting took and of what, the "
	"settings that were read; a warning (log.setup.*) says where that is poor.\n\n"
	"The dumps of PyTorch's Flight Recorder (nccl_trace_rank_N, comm_traces/rank_N; pickles or "
	"JSON) are read as well, without Python, alone or beside the logs: they say which rank "
	"never came, which called something else, and who waits for whom.\n\n"
	"`ncclwhy --stacks` needs no log, and nothing that was set before: it reads where each "
	"rank of a job that hangs stands in its Python program, without stopping it, and says who "
	"waits for whom: \"rank 3 is waiting for data (train.py:41), the others are in "
	"all_reduce\".\n\n"
	"`ncclwhy -- COMMAND` runs a command, passes its words and its exit code through "
	"unchanged, and explains on stderr when it fails or stalls.\n\n"
	"A cause is named by an id. Where one of our own entries states a widely known cause more "
	"finely (the kernel's out-of-memory line, and SHM-004, killed from outside), the id is the "
	"known one's, and the entry stands before its line: `KRN-001: line 7`. In JSON they are "
	"data.causes[].id and .entry; .kin[] has the other lines of that family.";

static const char examples[] =
	"  ncclwhy train.log                    # what happened, and what to type\n"
	"  ncclwhy /tmp/nccl.*.log dmesg.txt    # all ranks' logs and the kernel's together\n"
	"  ncclwhy logs/                        # all of a folder: torchrun's --log-dir\n"
	"  ncclwhy /tmp/nccl_trace_rank_*       # a hang: what the dumps of all ranks show\n"
	"  torchrun train.py 2>&1 | ncclwhy     # from a pipe\n"
	"  ncclwhy nccl.log                     # is InfiniBand used? (NCCL_DEBUG=INFO)\n"
	"  ncclwhy -- torchrun train.py         # run it; explain when it fails or stalls\n"
	"  ncclwhy --follow slurm-4711.out      # while it runs\n"
	"  ncclwhy --live node1                 # a job that hangs: who is missing, behind?\n"
	"  ncclwhy --stacks --hosts a,b         # ... and where does each rank stand?\n"
	"  ncclwhy --hosts a,b '/tmp/nccl_*'    # where they lie\n"
	"  ncclwhy --confirm train.log          # and look whether this host shows it\n"
	"  ncclwhy --confirm --hosts 'node[1-8]' train.log";

static const char exits[] =
	"0 no confident cause was found: no proof of health (--strict makes warnings 1)\n"
	"1 a confident cause was found\n"
	"2 the command line is wrong\n"
	"3 there was nothing to read, or the tool could not do its job here\n"
	"4 --live: no such job answers; --stacks: no rank runs there\n"
	"-- with a COMMAND it is the command's own\n";

/* Do they have files to read, or is it looked there? */
static int check_hosts(const struct app *app, const struct config *c, struct err *e)
{
	bool reads_there = c->hosts && !c->confirm && !c->stacks;

	if ((c->copy_self || c->keep) && (!c->hosts || reads_there))
		return err_set(e, ERR_USAGE, "%s goes with --hosts and --confirm or --stacks",
			       c->copy_self ? "--copy-self" : "--keep");
	if (c->save && !reads_there)
		return err_set(e, ERR_USAGE, "--save goes with --hosts and files to read there");
	if (c->save && !*c->save) {
		err_set(e, ERR_USAGE, "--save: '' is no name of a folder");
		return err_hint(e, "an unset variable? leave the option out, or name one");
	}
	if (!reads_there)
		return 0;
	if (c->command.argv || c->follow || c->live || !app->operands.n) {
		err_set(e, ERR_USAGE, "--hosts goes with files to read there, or with --confirm");
		return err_command(e, "ncclwhy --hosts %s '/tmp/nccl_trace_rank_*'", c->hosts);
	}
	for (size_t i = 0; i < app->operands.n; i++)
		if (streq(app->operands.v[i], "-"))
			return err_set(e, ERR_USAGE, "- is stdin, which no host of --hosts has");
	return 0;
}

static int stacks_alone(const struct app *app, struct err *e)
{
	uint64_t pid;

	err_set(e, ERR_USAGE, "--stacks reads no log: give it alone, or with --hosts");
	if (app->operands.n == 1 && !parse_uint(app->operands.v[0], &pid))
		return err_command(e, "ncclwhy --stacks=%s", app->operands.v[0]);
	return -1;
}

/* --stacks: alone, of a process or of hosts. */
static int check_stacks(const struct app *app, struct config *c, struct err *e)
{
	uint64_t pid;

	if (!c->stacks)
		return 0;
	if (app->operands.n || c->command.argv || c->follow || c->live || c->confirm || c->look)
		return stacks_alone(app, e);
	if (streq(c->stacks, "all"))
		return 0;
	if (parse_uint(c->stacks, &pid) || !pid || pid > INT32_MAX)
		return err_set(e, ERR_USAGE, "--stacks=%s: a process has a number", c->stacks);
	if (c->hosts)
		return err_set(e, ERR_USAGE, "--stacks=%s: on other hosts it is another process",
			       c->stacks);
	c->below = (pid_t)pid;
	return 0;
}

/* --live HOST, or --live=HOST: it reads no log. */
static int check_live(const struct app *app, struct config *c, struct err *e)
{
	const str_list *hosts = &app->operands;

	if (!c->live)
		return 0;
	if (c->follow)
		return err_set(e, ERR_USAGE, "--follow and --live cannot be combined");
	if (c->confirm)
		return err_set(e, ERR_USAGE,
			       "--live reads no log: --confirm has no cause to look for");
	if (hosts->n > 1)
		return err_set(e, ERR_USAGE, "--live asks one host");
	if (hosts->n && c->live != own_host)
		return err_set(e, ERR_USAGE, "--live asks one host, and two are named: %s and %s",
			       c->live, hosts->v[0]);
	c->live = hosts->n ? hosts->v[0] : c->live;
	return 0;
}

static int check_needs(const struct config *c, struct err *e)
{
	const struct opt_need needs[] = {
		{c->stall_ns != STALL_NS, c->command.argv || c->follow, "--stall",
		 "-- COMMAND or --follow"},
		/* of the environment it is for all commands, and no slip of this one */
		{c->rsh && !getenv("WINDSOCK_RSH"), c->hosts != NULL, "--rsh", "--hosts"}};

	return opt_check_needs(needs, ARRAY_LEN(needs), e);
}

static int check_wrapped(struct app *app, const struct config *c, struct err *e)
{
	if (!c->command.argv)
		return 0;
	if (c->follow || c->live)
		return err_set(e, ERR_USAGE, "a command after -- and %s cannot be combined",
			       c->follow ? "--follow" : "--live");
	if (app->operands.n) {
		err_set(e, ERR_USAGE, "%s is not read where a command is run", app->operands.v[0]);
		return err_command(e, "ncclwhy %s",
				   shell_quote_path(&app->arena, app->operands.v[0]));
	}
	if (app->common.output || streq(app->common.format, "table"))
		return 0;
	err_set(e, ERR_USAGE, "stdout is the command's own: --format %s goes to a file",
		app->common.format);
	return err_hint(e, "add --output FILE");
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;

	if (c->is_bare && !app->operands.n) {
		err_set(e, ERR_USAGE, "-- wants a command behind it");
		return err_command(e, "ncclwhy -- torchrun train.py");
	}
	for (size_t i = 0; i < app->operands.n; i++)
		if (!*app->operands.v[i]) {
			err_set(e, ERR_USAGE, "'' is no file");
			return err_hint(e, "an unset variable? leave it out, or name a log");
		}
	if (check_wrapped(app, c, e))
		return -1;
	if (c->follow && (app->operands.n != 1 || streq(app->operands.v[0], "-")))
		return err_set(e, ERR_USAGE, "--follow wants one file");
	if (check_stacks(app, c, e) || check_live(app, c, e) || check_hosts(app, c, e) ||
	    check_needs(c, e))
		return -1;
	if (hosts_settle(&c->hosts, &app->arena, e) ||
	    (c->hosts && hosts_from_arg(c->hosts, &app->arena, &c->named, e)))
		return -1;
	if (c->look && (app->operands.n || c->command.argv || c->follow || c->live || c->confirm))
		return err_set(e, ERR_USAGE, "--look reads no log: give it alone");
	app->report_opts.answer_only = c->command.argv && !app->common.output;
	return 0;
}

static int read_sources(struct app *app, struct config *c, struct why *w, struct err *e)
{
	const struct source_watch watch = {
		.stall_ns = c->stall_ns, .quiet = aloud_quiet, .arg = &c->aloud};

	if (c->command.argv)
		return wrapped_read(&c->command, w, &watch, e);
	if (c->follow)
		return source_follow(w, app->operands.v[0], &watch, e);
	if (c->hosts && !c->confirm) {
		const struct afar q = {.hosts = &c->named,
				       .files = &app->operands,
				       .rsh = c->rsh,
				       .save = c->save,
				       .deadline_ns = app->common.deadline_ns};

		return afar_read(w, &q, app->report, e);
	}
	return read_named(w, &app->operands, app->report, e);
}

static struct there there_of(const struct app *app, const struct config *c)
{
	return (struct there){.hosts = &c->named,
			      .given = c->hosts,
			      .rsh = c->rsh,
			      .copy_self = c->copy_self,
			      .keep = c->keep,
			      .deadline_ns = app->common.deadline_ns};
}

static int read_and_explain(struct app *app, struct config *c, struct why *w, struct err *e)
{
	const struct there there = there_of(app, c);
	struct explanation x;
	int failed = read_sources(app, c, w, e);

	if (e->kind == ERR_USAGE || (c->command.argv && wrapped_never_began(&c->command, w)))
		return failed;
	explain(w, &app->arena, &x);
	if (c->command.argv && !app->common.output && wrapped_is_plain(&c->command, w, &x))
		return failed;
	if (c->hosts && c->confirm && confirm_hosts(&x, &there, &app->operands, app->report, e))
		failed = -1;
	if (c->confirm && !c->hosts)
		confirm(&x, app->common.deadline_ns, &app->arena);
	tell(w, &x, app->report);
	confirm_tell(&x, app->report);
	return failed;
}

static int run(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	const struct there there = there_of(app, c);
	struct why *w;
	int failed;

	if (c->look)
		return look_list(c->look, app->common.deadline_ns, app->report, e);
	if (c->stacks && c->hosts)
		return stacks_hosts(&there, app->report, e);
	if (c->stacks)
		return stacks_here(c->below, app->report, e);
	if (c->live)
		return live_ask(c->live, app->common.deadline_ns, app->report, e);
	w = ARENA_NEW(&app->arena, struct why); /* half of a small stack would be too much */
	why_init(w);
	failed = read_and_explain(app, c, w, e);
	why_done(w);
	return failed;
}

/* What comes after -- is not ours to parse. */
static int split(int argc, char **argv, struct config *c)
{
	for (int i = 1; i < argc; i++)
		if (streq(argv[i], "--")) {
			c->is_bare = !argv[i + 1];
			if (c->is_bare)
				break;
			c->command.argv = argv + i + 1;
			argv[i] = NULL;
			return i;
		}
	return argc;
}

int main(int argc, char **argv)
{
	static struct config cfg = {.stall_ns = STALL_NS, .command.code = -1};
	static const struct app_spec spec = {
		.cmd = {.name = "ncclwhy",
			.summary = "says what a failure log of distributed training means, and "
				   "what to type",
			.synopsis = "[OPTIONS] [FILE...|-]  |  [OPTIONS] -- COMMAND...",
			.about = about,
			.examples = examples,
			.exits = exits,
			.operand = "FILE",
			.operand_complete = OPT_C_FILE,
			.wraps = true},
		.rows = rows,
		.nrows = ARRAY_LEN(rows),
		.cfg = &cfg,
		.instead = launch_intercept, /* it carries itself to hosts */
		.prepare = prepare,
		.run = run,
	};
	int code = app_main(&spec, split(argc, argv, &cfg), argv);

	return cfg.command.code > (cfg.command.lost ? 0 : -1) ? cfg.command.code : code;
}
