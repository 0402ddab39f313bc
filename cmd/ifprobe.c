/* ifprobe: which interface must NCCL use here, what would it use by itself,
 * and why is that wrong. */
#include "cmd/app.h"
#include "lib/cluster/launch.h"
#include "lib/core/quote.h"
#include "lib/host/places.h"
#include "probes/iface/ask.h"
#include "probes/iface/fleet.h"
#include "probes/iface/modes.h"

static const char about[] =
	"NCCL picks a network interface by rules of its own, and so do Gloo, Open MPI and UCX. On "
	"a machine with docker bridges, VPNs, a management network or a half-configured fabric "
	"they pick wrong, and the job hangs without a message. ifprobe knows their rules, says "
	"what they would pick, what they should pick, and writes it down.\n\n"
	"A choice is a guess until a peer answered through it: add --peer or --hosts to prove it.";

static const char examples[] =
	"  ifprobe                               # the network here, and what will hurt\n"
	"  eval \"$(ifprobe --suggest)\"           # set it for this shell\n"
	"  ifprobe --suggest --peer 10.0.0.2     # the same, proven against another node\n"
	"  ifprobe --predict                     # what would every stack use by itself?\n"
	"  ifprobe --check                       # what is wrong with what is set?\n"
	"  ifprobe --bashrc                      # for every shell, ssh-started ones too\n"
	"  ifprobe --suggest --hosts 'node[1-4]' # one value that is right on all\n"
	"  ifprobe --ip 10.0.0.5                 # which interface has this address?\n";

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct iface_ask *q = cfg;

	if (iface_ask_check(q, &app->arena, e) || hosts_settle(&q->hosts, &app->arena, e))
		return -1;
	app->report_opts.answer_only = q->suggest || q->ip || q->dry_run;
	return 0;
}

/* For the same line once more. */
static const char *mode(const struct iface_ask *ask, const str_list *args, struct arena *a)
{
	str_list words = *args;

	if (ask->suggest)
		*LIST_ADD(a, &words) = arena_printf(a, "--suggest=%s", ask->suggest);
	if (ask->name_only)
		*LIST_ADD(a, &words) = "--name-only";
	*LIST_ADD(a, &words) = NULL;
	return *words.v ? arena_printf(a, " %s", shell_quote_words(a, words.v)) : "";
}

static int bring(const struct iface_ask *ask, struct fleet *f, struct carry *ret, struct err *e)
{
	const struct carry_opts o = {.hosts = &f->hosts,
				     .rsh = f->rsh,
				     .keep = ask->keep,
				     .deadline_ns = f->deadline_ns};

	f->carry = ret;
	return ask->copy_self || ask->keep ? carry_begin(&o, f->a, ret, e) : 0;
}

static int run_hosts(struct app *app, const struct iface_ask *ask, struct err *e)
{
	AUTO(carry_done) struct carry carry = {0};
	struct fleet f = {.given = ask->hosts,
			  .rsh = ask->rsh,
			  .deadline_ns = app->common.deadline_ns,
			  .a = &app->arena,
			  .report = app->report,
			  .fold = report_folds(app->report)};
	str_list args = {0};

	if (hosts_from_arg(ask->hosts, f.a, &f.hosts, e))
		return -1;
	iface_ask_remote(ask, f.a, &args);
	f.mode = iface_ask_writes(ask) && !ask->fixed ? NULL : mode(ask, &args, f.a);
	if (bring(ask, &f, &carry, e))
		return -1;
	if (ask->suggest)
		return fleet_suggest(&f, ask->suggest, ask->name_only, e);
	if (ask->predict)
		return fleet_predict(&f, &args, e);
	if (ask->check)
		return fleet_check(&f, &args, e);
	if (iface_ask_writes(ask)) {
		const struct write_request w = iface_ask_write(ask);

		return fleet_write(&f, &w, &args, e);
	}
	return fleet_bare(&f, e);
}

static int run(struct app *app, void *cfg, struct err *e)
{
	const struct iface_ask *ask = cfg;
	const struct request q = {.a = &app->arena,
				  .r = app->report,
				  .deadline_ns = app->common.deadline_ns,
				  .peers = &ask->peers,
				  .nccl_version = ask->version,
				  .verbose = app->common.verbose,
				  .accelerate = ask->accelerate};

	if (ask->hosts)
		return run_hosts(app, ask, e);
	if (ask->ip)
		return mode_ip(&q, ask->ip, ask->name_only, e);
	if (ask->suggest)
		return mode_suggest(&q, ask->suggest, ask->name_only, e);
	if (iface_ask_writes(ask)) {
		const struct write_request w = iface_ask_write(ask);

		return mode_write(&q, &w, e);
	}
	if (ask->predict)
		return mode_predict(&q, e);
	if (ask->check)
		return mode_check(&q, e);
	return mode_bare(&q, e);
}

static struct iface_ask ask;
static const struct app_spec spec = {
	.cmd = {.name = "ifprobe",
		.summary = "which interface must NCCL use here, what would it use, and why",
		.synopsis = "[OPTIONS]",
		.about = about,
		.environment = LIBRARY_ENVIRONMENT,
		.examples = examples,
		.stray = "alone it shows every interface; an address goes with --ip, another "
			 "host with --peer or --hosts"},
	.rows = iface_ask_rows,
	.nrows = IFACE_ASK_NROWS,
	.cfg = &ask,
	.prepare = prepare,
	.run = run,
	.instead = launch_intercept, /* it carries itself to hosts */
};

int main(int argc, char **argv) { return app_main(&spec, argc, argv); }
