/* portcheck: can every node reach every node on the ports that training uses,
 * and which rule is missing. */
#include "cmd/app.h"
#include "lib/cluster/loopback.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "probes/port/local.h"
#include "probes/port/mesh.h"
#include "probes/port/own.h"
#include "probes/port/say.h"
#include "probes/secgroup/audit.h"
#include "probes/secgroup/beside.h"

struct config {
	const char *ports, *expect, *from;
	bool udp;
	uint64_t count, wait_ns, sample, seed;
	const char *hosts, *rsh, *why;
	bool serve, is_rank, copy_self, keep;
	uint64_t joiners, join_ns, port, rate_ns; /* 0: not said */
	enum mode { LOCAL, TARGETS, CLOUD, LAUNCH, RANK } mode;
	struct port_env env;
	port_list list;
	target_list targets;
};

#define AT(field) .off = offsetof(struct config, field)
static const char *const expectations[] = {"answer", "open", NULL};

static const struct opt rows[] = {
	{.help = "What to ask"},
	{0, "ports", "LIST",
	 "29500,30000-30010, nccl, slurm, ssh; without it MASTER_PORT (or 29500) and a random "
	 "sample of the ephemeral range",
	 OPT_STR, AT(ports)},
	{0, "sample", "N", "how many random ephemeral ports that sample has", OPT_UINT, AT(sample),
	 .max = 1000, .def = "3"},
	{0, "udp", NULL, "ask with UDP instead of TCP", OPT_BOOL, AT(udp)},
	{0, "expect", "WHAT",
	 "what passes: any answer (a refusal proves that the way is free), or open only",
	 OPT_CHOICE, AT(expect), .choices = expectations, .def = "answer"},
	{0, "from", "IFACE|ADDR", "send from this interface or this address of this host", OPT_STR,
	 AT(from), .complete = OPT_C_IFACE},
	{0, "count", "N", "ask so many times and give the median latency", OPT_UINT, AT(count),
	 .min = 1, .max = 1000, .def = "1"},
	{0, "wait", "TIME", "how long a port may be silent before that is its answer", OPT_DURATION,
	 AT(wait_ns), .min = NS_PER_MS, .max = 600 * NS_PER_S, .def = "4s"},

	{.help = "Between hosts"},
	{0, "hosts", "HOSTS",
	 "every one of these to every other: a list, a Slurm hostlist, a hostfile, or the word lab",
	 OPT_STR, AT(hosts), .complete = OPT_C_HOSTS},
	{0, "rsh", "CMD", "how to reach them, instead of ssh", OPT_STR, AT(rsh),
	 .env = "WINDSOCK_RSH"},
	{0, "copy-self", NULL, "hosts that have not this program get it, removed afterwards",
	 OPT_BOOL, AT(copy_self)},
	{0, "keep", NULL, "--copy-self: leave it there, for the next time", OPT_BOOL, AT(keep)},
	{0, "serve", NULL,
	 "no ssh: prints a line to paste on the other machines, and waits for them", OPT_BOOL,
	 AT(serve)},
	{0, "joiners", "N", "with --serve: how many others join", OPT_UINT, AT(joiners), .min = 1,
	 .max = 10000, .def = "1"},
	{0, "join-time", "TIME", "with --serve: the longest wait for them", OPT_DURATION,
	 AT(join_ns), .min = NS_PER_MS, .max = 86400 * NS_PER_S, .def = "10m"},
	{0, "port", "PORT", "with --serve: where they join", OPT_UINT, AT(port), .min = 1,
	 .max = 65535, .def = "29499"},
	{0, "bandwidth", "SECONDS",
	 "measure the throughput too, so long each way of each pair, every host in one pair at a "
	 "time",
	 OPT_DURATION, AT(rate_ns), .min = 10 * NS_PER_MS, .max = 600 * NS_PER_S},

	{0, "seed", "N", "draw this sample", OPT_UINT, AT(seed), .hidden = true},
	{0, "mesh-rank", NULL, "one rank of --hosts", OPT_BOOL, AT(is_rank), .hidden = true},
	{0, "why", "FROM:PORTS", "name the rule of this host that stops it", OPT_STR, AT(why),
	 .hidden = true},
};

static struct cloud_config cloud; /* the table of options is probes/secgroup's own */

static const char about[] =
	"Training needs more than MASTER_PORT: NCCL, Gloo and MPI listen on random ports of the "
	"ephemeral range, on every node, and every node connects to every other. A security group "
	"that opens only 29500 lets the rendezvous through and hangs the job afterwards.\n\n"
	"portcheck asks MASTER_PORT and a random sample of that range. A refusal is good news: "
	"the way is free and nothing listens yet. Silence, a firewall's \"no\" and an address that "
	"nobody has are told apart, and the missing rule is named.\n\n"
	"Between hosts (--hosts, --serve, inside a Slurm allocation, or started by srun, mpirun or "
	"torchrun) every one asks every other, both ways, and sends real data: small messages that "
	"pass prove nothing about large packets.\n\n"
	"Without a host it looks at this host's own part: its firewall, who holds MASTER_PORT, "
	"and what to type on the other node.";

static const char examples[] =
	"  portcheck                            # this host's part, and what to type on a peer\n"
	"  portcheck 10.0.0.2                   # MASTER_PORT and a sample of ephemeral ports\n"
	"  portcheck 10.0.0.2:29500,30000-30010 # these ports\n"
	"  portcheck node2 --ports nccl,ssh     # lists by name\n"
	"  portcheck 10.0.0.2:1-65535           # all, in a second or two\n"
	"  portcheck node2:29500 --expect open  # is rank 0 listening?\n"
	"  portcheck 10.0.0.2 --from eth1       # through that interface\n"
	"  portcheck --hosts 'node[1-8]'        # everybody to everybody, as a matrix\n"
	"  portcheck --serve --joiners 3        # the same without ssh: paste a line there\n"
	"  portcheck --hosts lab --bandwidth 2  # and how fast, two seconds each way\n"
	"  portcheck --cloud                    # who the cloud says this machine is\n"
	"  portcheck --cloud --audit            # do its security groups let training through\n"
	"  aws ec2 describe-security-groups | portcheck --cloud --audit -\n"
	"  portcheck --cloud --audit --apply    # and add the rules that are missing\n";

static struct cloud_run cloud_question(struct app *app, const struct config *c)
{
	return (struct cloud_run){.c = &cloud,
				  .files = &app->operands,
				  .a = &app->arena,
				  .r = app->report,
				  .deadline_ns = app->common.deadline_ns,
				  .master = c->env.master,
				  .first = c->env.range.first,
				  .last = c->env.range.last};
}

static const char *get_env(const char *name, void *arg UNUSED) { return getenv(name); }

/* What a launcher that is not ours, or an allocation, makes of a bare `portcheck`. */
static enum mode bare_mode(struct app *app)
{
	const char *nodes = getenv("SLURM_JOB_NODELIST"), *count = getenv("SLURM_JOB_NUM_NODES");
	struct world w;
	uint64_t n;

	world_from_env(get_env, NULL, &app->arena, &w);
	if (w.launcher != LAUNCHER_NONE && w.launcher != LAUNCHER_ENV && !w.trouble && w.size > 1) {
		if (w.rank > 0) { /* one of them speaks */
			app->report_opts.answer_only = true;
			app->report_opts.format = "table";
			app->report_opts.output = NULL;
		}
		return RANK;
	}
	return nodes && count && !parse_uint(count, &n) && n > 1 ? LAUNCH : LOCAL;
}

static int refuse(const struct app *app, const struct config *c, struct err *e)
{
	const char *many = c->hosts ? "--hosts" : c->serve ? "--serve" : NULL;
	const char *other = c->hosts && c->serve      ? "--serve"
			    : cloud_is_wanted(&cloud) ? "--cloud"
			    : c->from		      ? "--from"
			    : c->udp		      ? "--udp"
						      : NULL;
	const char *serves = c->joiners	  ? "--joiners"
			     : c->join_ns ? "--join-time"
			     : c->port	  ? "--port"
					  : NULL;

	if (many && other)
		return err_set(e, ERR_USAGE, "%s and %s cannot be combined", many, other);
	if (serves && !c->serve)
		return err_set(e, ERR_USAGE,
			       "%s goes with --serve, which prints a line to paste "
			       "on other machines",
			       serves);
	if (many && app->operands.n)
		return err_set(e, ERR_USAGE, "%s asks every pair of them; '%s' does not fit", many,
			       app->operands.v[0]);
	if (c->rate_ns && (app->operands.n || cloud_is_wanted(&cloud)))
		return err_set(e, ERR_USAGE,
			       "--bandwidth needs a portcheck at both ends: --hosts "
			       "or --serve");
	return 0;
}

/* What asks somebody means nothing where nobody was named. */
static int refuse_alone(const struct config *c, struct err *e)
{
	const char *asks = c->ports			 ? "--ports"
			   : c->rate_ns			 ? "--bandwidth"
			   : c->udp			 ? "--udp"
			   : c->from			 ? "--from"
			   : !streq(c->expect, "answer") ? "--expect"
			   : c->count > 1		 ? "--count"
			   : c->copy_self		 ? "--copy-self"
			   : c->keep			 ? "--keep"
							 : NULL;

	if (c->mode != LOCAL || c->why || !asks)
		return 0;
	err_set(e, ERR_USAGE, "%s asks other hosts, and none is named", asks);
	return err_hint(e, "%s",
			c->rate_ns ? "add --hosts A,B or --serve"
				   : "name them: HOST, or --hosts A,B");
}

static void choose_mode(struct app *app, struct config *c)
{
	if (cloud_is_wanted(&cloud))
		c->mode = CLOUD;
	else if (c->is_rank)
		c->mode = RANK;
	else if (c->hosts || c->serve)
		c->mode = LAUNCH;
	else if (app->operands.n)
		c->mode = TARGETS;
	else if (!c->why)
		c->mode = bare_mode(app);
	if (c->is_rank)
		app->report_opts.answer_only = true;
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	struct arena *a = &app->arena;
	str_list none = {0};

	if (refuse(app, c, e) || port_env_read(&c->env, c->sample, c->seed, a, e))
		return -1;
	if (cloud_prepare(&cloud, cloud_is_wanted(&cloud) ? &app->operands : &none, a, e))
		return -1;
	choose_mode(app, c);
	if (refuse_alone(c, e))
		return -1;
	if (c->mode == CLOUD) /* operands are files then */
		return 0;
	if (!c->ports)
		ports_default(&c->env, a, &c->list);
	else if (ports_parse(c->ports, &c->env, a, &c->list, e))
		return -1;
	return targets_parse(&app->operands, &c->list, &c->env, a, &c->targets, e);
}

static uint64_t patience(const struct app *app, const struct config *c)
{
	return c->wait_ns < app->common.deadline_ns ? c->wait_ns : app->common.deadline_ns;
}

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

static int run_targets(struct app *app, struct config *c, struct facts *f, struct err *e)
{
	struct reach_opts ro = {
		.udp = c->udp, .count = (unsigned)c->count, .patience_ns = patience(app, c)};
	struct say_opts so = {.expect_open = streq(c->expect, "open"), .from = f->inv.hostname};
	uint64_t began_ns;
	struct reach r;

	if (c->from && reach_from(c->from, f, &ro, e))
		return -1;
	targets_resolve(&c->targets, f, app->common.deadline_ns);
	if (interrupt_pending())
		return interrupt_err(e);
	began_ns = now_ns();
	if (reach_run(&c->targets, f, &ro, &r, e))
		return -1;
	own_neighbours(&r, &c->targets);
	own_limits(&r);
	own_seen(&r, &c->targets, f, began_ns);
	own_rules(&r, &c->targets, f, app->common.deadline_ns);
	targets_judge(&c->targets, f, app->report);
	say_findings(&r, &c->targets, &so, app->report);
	if (report_wants_data(app->report))
		say_data(&r, &so, report_data(app->report));
	report_covers(app->report, "the way from this host to %zu target%s; not the way back",
		      c->targets.n, plural(c->targets.n));
	return 0;
}

static int run_local(struct app *app, struct config *c, struct facts *f)
{
	AUTO(cloud_beside_done) struct cloud_beside beside = {0};
	struct cloud_run q = cloud_question(app, c);
	AUTO(local_done) struct local l;

	if (!c->why)
		cloud_beside_start(&beside, q.deadline_ns);
	local_read(&l, f, &c->env, app->common.deadline_ns);
	if (c->why)
		mesh_why(&l, c->why, app->report);
	else
		local_judge(&l, app->report);
	if (!c->why)
		cloud_beside_report(&beside, &q);
	if (report_wants_data(app->report))
		local_data(&l, report_data(app->report));
	report_covers(app->report, "this host only; nothing between hosts was tested");
	return 0;
}

static struct mesh_opts mesh_opts(const struct app *app, const struct config *c)
{
	return (struct mesh_opts){.rsh = c->rsh,
				  .copy_self = c->copy_self || c->keep,
				  .keep = c->keep,
				  .serve = c->serve,
				  .joiners = (unsigned)(c->joiners ?: 1),
				  .join_ns = c->join_ns ?: 600 * NS_PER_S,
				  .serve_port = (uint16_t)c->port,
				  .deadline_ns = app->common.deadline_ns,
				  .patience_ns = patience(app, c),
				  .ports = c->ports ? &c->list : NULL,
				  .ports_text = c->ports,
				  .sample = c->sample,
				  .expect_open = streq(c->expect, "open"),
				  .count = (unsigned)c->count,
				  .rate_ns = c->rate_ns};
}

static int run_launch(struct app *app, struct config *c, struct err *e)
{
	struct mesh_opts o = mesh_opts(app, c);

	o.srun = !c->hosts && !c->serve;
	if (c->hosts && hosts_from_arg(c->hosts, &app->arena, &o.hosts, e))
		return -1;
	if (o.srun && hostlist_parse(getenv("SLURM_JOB_NODELIST"), &app->arena, &o.hosts, e))
		return -1;
	return mesh_launch(&o, &c->env, &app->arena, app->report, e);
}

static int run_rank(struct app *app, struct config *c, struct facts *f, struct err *e)
{
	struct mesh_opts o = mesh_opts(app, c);
	/* The others may still be asking when we are done. */
	const struct world_opts wo = {.rank = -1,
				      .size = -1,
				      .deadline_ns = o.deadline_ns + 20 * NS_PER_S +
						     (o.patience_ns + NS_PER_S) * o.count +
						     2 * o.rate_ns};
	struct world_run w;
	int rc;

	if (world_start(&wo, &app->arena, &w, e)) {
		if (!w.missing || w.world.launcher == LAUNCHER_WINDSOCK)
			return -1;
		mesh_failed(e->msg, app->report);
		*e = (struct err){0};
		return 0;
	}
	for (size_t i = 0; w.notes[i]; i++)
		log_say("%s", w.notes[i]);
	if (!w.rdzv)
		return err_set(e, ERR_USAGE, "--mesh-rank is for our own launcher");
	rc = mesh_rank(&o, &c->env, &w, f, app->report, e);
	world_stop(&w, rc ? e->msg : NULL);
	return rc;
}

static int run(struct app *app, void *cfg, struct err *e)
{
	struct config *c = cfg;
	AUTO(facts_done) struct facts f = {0};

	if (c->mode == CLOUD) {
		struct cloud_run q = cloud_question(app, c);

		return cloud_run(&q, e);
	}
	if (c->mode == LAUNCH)
		return run_launch(app, c, e);
	if (facts_read(&f, FACTS_NET | FACTS_RDMA | FACTS_SETTINGS, &app->arena, e))
		return -1;
	if (c->mode == RANK)
		return run_rank(app, c, &f, e);
	return c->mode == TARGETS ? run_targets(app, c, &f, e) : run_local(app, c, &f);
}

/* A rank that cannot meet its own agent wants to hear of the rule. */
static bool is_other(int argc, char **argv, int *ret_code, struct err *e)
{
	loopback_explained_by(firewall_explain_loopback);
	return launch_intercept(argc, argv, ret_code, e);
}

static struct config config = {.expect = "answer",
			       .count = 1,
			       .wait_ns = SCAN_PATIENCE_S * NS_PER_S,
			       .sample = PORT_SAMPLE};
static const struct app_spec spec = {
	.cmd = {.name = "portcheck",
		.summary = "can every node reach every node on the ports that training uses",
		.synopsis = "[OPTIONS] [HOST[:PORTS]...]",
		.about = about,
		.examples = examples,
		.operand = "HOST[:PORTS]",
		.operand_complete = OPT_C_HOST},
	.rows = rows,
	.nrows = ARRAY_LEN(rows),
	.cfg = &config,
	.shared = {cloud_rows, CLOUD_NROWS, &cloud},
	.prepare = prepare,
	.run = run,
	.instead = is_other,
};

int main(int argc, char **argv) { return app_main(&spec, argc, argv); }
