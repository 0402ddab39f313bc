#include "probes/preflight/ask.h"

#include "lib/cluster/allocation.h"
#include "lib/core/units.h"
#include "probes/preflight/document.h"
#include "probes/preflight/srun.h"

#define AT(field) .off = offsetof(struct preflight_ask, field)

const struct opt preflight_ask_rows[PREFLIGHT_ASK_NROWS] = {
	{.help = "How much (without any: seconds for one machine, a minute or so for several)"},
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

	{.name = "checkpoint",
	 .metavar = "DIR",
	 .type = OPT_STR,
	 AT(checkpoint),
	 .complete = OPT_C_DIR,
	 .help = "where jobs save: can every host save there, see it, and train on from it"},

	{.help = "Between hosts"},
	{OPT_HOSTS("each of these, and what is between them"), AT(hosts)},
	{.name = "here",
	 .type = OPT_BOOL,
	 AT(here),
	 .help = "this machine alone, also inside a scheduler's job"},
	{.name = "asked",
	 .type = OPT_BOOL,
	 AT(asked),
	 .help = "for a run of several hosts, which judges what is between them",
	 .hidden = true},
	{OPT_RSH, AT(rsh)},
	{OPT_COPY_SELF, AT(copy_self)},
	{OPT_KEEP, AT(keep)},
	{.name = "serve",
	 .type = OPT_BOOL,
	 AT(serve),
	 .beside = "wait",
	 .help = "no ssh: prints the line to paste on the other machines, and waits for them"},
	{.name = "wait",
	 .metavar = "N",
	 .type = OPT_UINT,
	 AT(wait),
	 .min = 1,
	 .max = 4096,
	 .def = "1",
	 .help = "with --serve: so many others join"},
	{.name = "wait-time",
	 .metavar = "TIME",
	 .type = OPT_DURATION,
	 AT(wait_ns),
	 .min = NS_PER_MS,
	 .max = 86400 * NS_PER_S,
	 .def = "10m",
	 .help = "with --serve: the longest wait for them"},
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

int preflight_ask_check(const struct preflight_ask *q, struct err *e)
{
	if (q->quick && q->full)
		return err_set(e, ERR_USAGE, "--quick and --full cannot be combined");
	if (q->checkpoint && !*q->checkpoint)
		return err_set(e, ERR_USAGE, "--checkpoint: '' is no folder; an unset variable?");
	if (q->checkpoint && q->quick)
		return err_set(e, ERR_USAGE,
			       "--checkpoint goes without --quick, which trains nothing");
	if (q->serve && (q->hosts || q->here))
		return err_set(e, ERR_USAGE, "--serve goes without --hosts and --here");
	if (q->here && q->hosts)
		return err_set(e, ERR_USAGE, "--here and --hosts cannot be combined");
	if ((q->serve || q->here) && (q->copy_self || q->keep))
		return err_set(e, ERR_USAGE, "%s goes with --hosts",
			       q->copy_self ? "--copy-self" : "--keep");
	if (!q->serve && (q->wait || q->wait_ns || q->port))
		return err_set(e, ERR_USAGE,
			       "%s goes with --serve, which prints a line to paste on other "
			       "machines",
			       q->wait	    ? "--wait"
			       : q->wait_ns ? "--wait-time"
					    : "--port");
	for (size_t i = 0; i < q->same.n; i++)
		if (!*q->same.v[i])
			return err_set(e, ERR_USAGE,
				       "--same: '' is no file or folder; an unset variable? leave "
				       "the option out, or name one");
	return 0;
}

void preflight_ask_hosts(struct preflight_ask *q, struct arena *a)
{
	struct allocation job;

	if (q->here || q->hosts || q->serve)
		return;
	allocation_find(a, &job);
	q->hosts = job.hosts;
	q->is_slurms = job.srun;
	allocation_go_by(&job, q->rsh);
	if (!q->rsh)
		q->rsh = job.srun ? srun_rsh(a) : job.rsh;
}

/* What its own variable gives every job is not asked of this run. */
static bool names_master(const struct preflight_ask *q)
{
	const char *env = getenv("MASTER_ADDR");

	return q->master && *q->master && !(env && streq(env, q->master));
}

int preflight_ask_alone(const struct preflight_ask *q, struct err *e)
{
	static const char hosts[] = "--hosts";
	static const char several[] = "--hosts or --serve: it is compared between hosts";
	bool compares = q->hosts || q->serve || q->here; /* --here: for somebody who does */
	const struct opt_need needed[] = {
		{q->nodes, q->hosts, "--nodes", hosts},
		{q->copy_self, q->hosts, "--copy-self", hosts},
		{q->keep, q->hosts, "--keep", hosts},
		{q->same.n, compares, "--same", several},
		{names_master(q), compares, "--master", several},
	};

	return opt_check_needs(needed, ARRAY_LEN(needed), e);
}

void preflight_ask_fill(const struct preflight_ask *q, struct preflight *p)
{
	p->tier = q->quick ? TIER_QUICK : q->full ? TIER_FULL : TIER_DEFAULT;
	p->given = q->hosts;
	p->rsh = q->rsh;
	p->copy_self = q->copy_self || q->keep;
	p->keep = q->keep;
	p->is_slurms = q->is_slurms;
	p->nodes_dir = q->nodes;
	p->here = q->here;
	p->asked = q->asked;
	p->burst = q->burst;
	p->checkpoint = q->checkpoint;
	p->same = q->same;
	p->master = (q->hosts || q->here || q->serve) && q->master && *q->master ? q->master : NULL;
	p->page = q->page;
}

int preflight_ask_files(const struct preflight_ask *q, struct preflight *p, struct err *e)
{
	if (q->page && report_check_folder(p->a, q->page, e))
		return -1;
	if (q->nodes && preflight_check_nodes(p->a, q->nodes, e))
		return -1;
	if (q->baseline)
		p->baseline = document_read(q->baseline, p->a, e);
	return q->baseline && !p->baseline ? -1 : 0;
}
