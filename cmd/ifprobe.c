/* ifprobe: which interface must NCCL use here, what would it use by itself,
 * and why is that wrong. */
#include "cmd/app.h"
#include "probes/iface/fleet.h"
#include "probes/iface/modes.h"
#include "probes/iface/peers.h"
#include "probes/rules/nccl.h"

struct config {
	const char *ip, *suggest, *bashrc, *write;
	bool predict, check;
	str_list peers;
	const char *hosts, *rsh;
	bool name_only;
	const char *nccl_version;
	const char *to, *unit;
	bool fixed, dry_run, undo;
	unsigned version; /* nccl_version, parsed */
};

#define AT(field) .off = offsetof(struct config, field)
static const char *const computed_or_fixed[] = {"computed", "fixed", NULL};

static const struct opt rows[] = {
	{.help = "What to do (without any: show this host's network and judge it)"},
	{.name = "suggest",
	 .metavar = "FORM",
	 .type = OPT_CHOICE,
	 AT(suggest),
	 .choices = emit_print_names,
	 .if_bare = "shell",
	 .help = "print the settings that make every stack use the right interface"},
	{.name = "predict",
	 .type = OPT_BOOL,
	 AT(predict),
	 .help = "say what NCCL, Gloo, torchrun, Open MPI and UCX would use as things are"},
	{.name = "check",
	 .type = OPT_BOOL,
	 AT(check),
	 .help = "judge the settings in the environment, in NCCL's conf files and in "
		 "accelerate's"},
	{.name = "ip",
	 .metavar = "ADDR",
	 .type = OPT_STR,
	 AT(ip),
	 .help = "say which interface has this address; a public one is answered with the private "
		 "one"},
	{.name = "bashrc",
	 .metavar = "HOW",
	 .type = OPT_CHOICE,
	 AT(bashrc),
	 .choices = computed_or_fixed,
	 .if_bare = "computed",
	 .help = "put a marked block into ~/.bashrc: a line that asks again in every shell, or "
		 "fixed values"},
	{.name = "write",
	 .metavar = "KIND",
	 .type = OPT_CHOICE,
	 AT(write),
	 .choices = emit_write_names,
	 .help = "write the settings where that kind of reader finds them"},

	{.help = "How to choose"},
	{.name = "peer",
	 .metavar = "HOST[:PORT]",
	 .type = OPT_LIST,
	 AT(peers),
	 .complete = OPT_C_HOST,
	 .help = "prove the choice: this host must be reachable through it"},
	{OPT_HOSTS("ask all of these hosts"), AT(hosts)},
	{OPT_RSH, AT(rsh)},
	{.name = "name-only",
	 .type = OPT_BOOL,
	 AT(name_only),
	 .help = "print the bare interface name"},
	{.name = "nccl-version",
	 .metavar = "VERSION",
	 .type = OPT_STR,
	 AT(nccl_version),
	 .help = "follow the rules of this NCCL, for example 2.27.7"},

	{.help = "How to write"},
	{.name = "fixed",
	 .type = OPT_BOOL,
	 AT(fixed),
	 .help = "write the values found now instead of a line that asks again"},
	{.name = "to",
	 .metavar = "PATH",
	 .type = OPT_STR,
	 AT(to),
	 .complete = OPT_C_FILE,
	 .help = "write to this file instead of the kind's own place"},
	{.name = "unit",
	 .metavar = "SERVICE",
	 .type = OPT_STR,
	 AT(unit),
	 .help = "the service that --write systemd is for"},
	{.name = "dry-run",
	 .type = OPT_BOOL,
	 AT(dry_run),
	 .help = "print the difference and change nothing"},
	{.name = "undo",
	 .type = OPT_BOOL,
	 AT(undo),
	 .help = "take out what --bashrc or --write put in"},
};

static const char about[] =
	"NCCL picks a network interface by rules of its own, and so do Gloo, Open MPI and UCX. On "
	"a machine with docker bridges, VPNs, a management network or a half-configured fabric "
	"they pick wrong, and the job hangs without a message. ifprobe knows their rules, says "
	"what they would pick, what they should pick, and writes it down.\n\n"
	"A choice is a guess until a peer answered through it: add --peer or --hosts to prove it.";

static const char examples[] =
	"  ifprobe                               # this host's network, and what will hurt\n"
	"  eval \"$(ifprobe --suggest)\"           # set it for this shell\n"
	"  ifprobe --suggest --peer 10.0.0.2     # the same, proven against another node\n"
	"  ifprobe --predict                     # what would every stack use by itself?\n"
	"  ifprobe --check                       # what is wrong with what is set?\n"
	"  ifprobe --bashrc                      # for every shell, also ssh-started ones\n"
	"  ifprobe --suggest --hosts 'node[1-4]' # one value that is right on all of them\n"
	"  ifprobe --ip 10.0.0.5                 # which interface has this address?\n";

/* Names the modes that were asked for; more than one is a usage error. */
static int count_modes(const struct config *c, const char **ret_first, const char **ret_second)
{
	const struct {
		bool on;
		const char *name;
	} modes[] = {{c->suggest, "--suggest"}, {c->predict, "--predict"}, {c->check, "--check"},
		     {c->ip, "--ip"},		{c->bashrc, "--bashrc"},   {c->write, "--write"}};
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (modes[i].on)
			*(n++ ? ret_second : ret_first) = modes[i].name;
	return n;
}

/* An option that its mode would not look at is a misunderstanding: say so. */
static int check_options(const struct config *c, struct err *e)
{
	bool writes = c->bashrc || c->write;
	const struct {
		bool given, fits;
		const char *name, *with;
	} only[] = {
		{c->name_only, c->suggest || c->ip, "--name-only", "--suggest or --ip"},
		{c->fixed, writes, "--fixed", "--bashrc or --write KIND"},
		{c->to, writes, "--to", "--bashrc or --write KIND"},
		{c->dry_run, writes, "--dry-run", "--bashrc or --write KIND"},
		{c->undo, writes, "--undo", "--bashrc or --write KIND"},
		{c->unit, c->write && streq(c->write, "systemd"), "--unit", "--write systemd"},
		{c->peers.n, !c->check && !c->ip, "--peer", "a mode that chooses an interface"},
		{c->hosts, !c->ip, "--hosts", "a mode that concerns other hosts"},
		{c->peers.n, !c->hosts, "--peer", "one host: --hosts names the peers already"},
	};

	if (c->to && !*c->to)
		return err_set(e, ERR_USAGE, "--to: the name of the file is empty");
	for (size_t i = 0; i < ARRAY_LEN(only); i++)
		if (only[i].given && !only[i].fits)
			return err_set(e, ERR_USAGE, "%s goes with %s", only[i].name, only[i].with);
	return 0;
}

static bool write_is_fixed(const struct config *c)
{
	const struct emit_form *form = emit_find(c->bashrc ? "bashrc" : c->write);

	return c->fixed || (c->bashrc && streq(c->bashrc, "fixed")) || !form->render_computed;
}

static struct write_request write_request(const struct config *c)
{
	return (struct write_request){.form = emit_find(c->bashrc ? "bashrc" : c->write),
				      .how = write_is_fixed(c) ? EMIT_FIXED : EMIT_COMPUTED,
				      .to = c->to,
				      .unit = c->unit,
				      .peers = c->peers,
				      .dry_run = c->dry_run,
				      .undo = c->undo};
}

/* Where it would be written, as far as the command line must say it. */
static int check_write(const struct config *c, struct arena *a, struct err *e)
{
	const struct write_request w = write_request(c);
	struct err why = {0};
	const char *path;

	if (!write_path(&w, a, &path, &why) || why.kind != ERR_USAGE)
		return 0;
	*e = why;
	return -1;
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	const char *first = NULL, *second = NULL;

	if (count_modes(c, &first, &second) > 1)
		return err_set(e, ERR_USAGE, "%s and %s cannot be combined", first, second);
	if (c->name_only && !first)
		c->suggest = "shell";
	if (check_options(c, e))
		return -1;
	if (c->nccl_version && nccl_version_parse(c->nccl_version, &c->version)) {
		err_set(e, ERR_USAGE, "--nccl-version: '%s' is not a version", c->nccl_version);
		return err_hint(e, "for example 2.28.9 or 22809");
	}
	if (peers_validate(&c->peers, &app->arena, e) ||
	    ((c->bashrc || c->write) && check_write(c, &app->arena, e)))
		return -1;
	app->report_opts.answer_only = c->suggest || c->ip || c->dry_run;
	return 0;
}

/* What each host is asked to do by itself: our own mode, without --hosts. */
static void remote_args(const struct config *c, struct arena *a, str_list *args)
{
	if (c->predict)
		*LIST_ADD(a, args) = "--predict";
	if (c->bashrc)
		*LIST_ADD(a, args) = arena_printf(a, "--bashrc=%s", c->bashrc);
	if (c->write)
		*LIST_ADD(a, args) = arena_printf(a, "--write=%s", c->write);
	if (c->to)
		*LIST_ADD(a, args) = arena_printf(a, "--to=%s", c->to);
	if (c->unit)
		*LIST_ADD(a, args) = arena_printf(a, "--unit=%s", c->unit);
	if (c->fixed)
		*LIST_ADD(a, args) = "--fixed";
	if (c->dry_run)
		*LIST_ADD(a, args) = "--dry-run";
	if (c->undo)
		*LIST_ADD(a, args) = "--undo";
	if (c->nccl_version)
		*LIST_ADD(a, args) = arena_printf(a, "--nccl-version=%s", c->nccl_version);
}

static int run_hosts(struct app *app, struct config *c, struct err *e)
{
	struct fleet f = {.given = c->hosts,
			  .rsh = c->rsh,
			  .deadline_ns = app->common.deadline_ns,
			  .a = &app->arena,
			  .report = app->report,
			  .fold = report_folds(app->report)};
	str_list args = {0};

	if (hosts_from_arg(c->hosts, f.a, &f.hosts, e))
		return -1;
	remote_args(c, f.a, &args);
	if (c->suggest)
		return fleet_suggest(&f, c->suggest, c->name_only, e);
	if (c->predict)
		return fleet_predict(&f, &args, e);
	if (c->check)
		return fleet_check(&f, e);
	if (c->bashrc || c->write)
		return fleet_write(&f, &args, !c->undo && write_is_fixed(c), e);
	return fleet_bare(&f, e);
}

static int run(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	const struct request q = {.a = &app->arena,
				  .r = app->report,
				  .deadline_ns = app->common.deadline_ns,
				  .peers = &c->peers,
				  .nccl_version = c->version,
				  .verbose = app->common.verbose};

	if (c->hosts)
		return run_hosts(app, c, e);
	if (c->ip)
		return mode_ip(&q, c->ip, c->name_only, e);
	if (c->suggest)
		return mode_suggest(&q, c->suggest, c->name_only, e);
	if (c->bashrc || c->write) {
		const struct write_request w = write_request(c);

		return mode_write(&q, &w, e);
	}
	if (c->predict)
		return mode_predict(&q, e);
	if (c->check)
		return mode_check(&q, e);
	return mode_bare(&q, e);
}

static struct config config;
static const struct app_spec spec = {
	.cmd = {.name = "ifprobe",
		.summary = "which interface must NCCL use here, what would it use, and why",
		.synopsis = "[OPTIONS]",
		.about = about,
		.examples = examples,
		.stray = "an address goes with --ip, another host with --peer or --hosts"},
	.rows = rows,
	.nrows = ARRAY_LEN(rows),
	.cfg = &config,
	.prepare = prepare,
	.run = run,
};

int main(int argc, char **argv) { return app_main(&spec, argc, argv); }
