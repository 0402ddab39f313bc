/* portcheck: can every node reach every node on the ports that training uses,
 * and which rule is missing. */
#include "cmd/app.h"
#include "lib/cluster/allocation.h"
#include "lib/cluster/loopback.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "probes/port/ask.h"
#include "probes/port/free.h"
#include "probes/port/local.h"
#include "probes/port/own.h"
#include "probes/port/say.h"
#include "probes/secgroup/audit.h"
#include "probes/secgroup/beside.h"

struct config {
	struct port_ask ask;
	enum mode { LOCAL, TARGETS, CLOUD, LAUNCH, RANK, FREE } mode;
	struct port_env env;
	struct allocation job; /* LAUNCH: whose hosts are asked; no scheduler: those of --hosts */
	port_list list;
	target_list targets;
};

static struct cloud_config cloud; /* the table of options is probes/secgroup's own */

static const char about[] =
	"Training needs more than MASTER_PORT: NCCL, Gloo and MPI listen on random ports of the "
	"ephemeral range, on every node, and every node connects to every other. A security group "
	"that opens only 29500 lets the rendezvous through and hangs the job afterwards.\n\n"
	"portcheck asks MASTER_PORT and a random sample of that range. A refusal is good news: "
	"the way is free and nothing listens yet. Silence, a firewall's \"no\" and an address that "
	"nobody has are told apart, and the missing rule is named.\n\n"
	"Between hosts (--hosts, --serve, inside a job of Slurm's, PBS's, LSF's or Grid Engine's, "
	"or started by srun, mpirun or "
	"torchrun) every one asks every other, both ways, and sends real data: small messages that "
	"pass prove nothing about large packets.\n\n"
	"Without a host it looks at this host's own part: its firewall, who holds MASTER_PORT, "
	"and what to type on the other node.";

static const char examples[] =
	"  portcheck                            # this host, and what to type on a peer\n"
	"  portcheck 10.0.0.2                   # MASTER_PORT and some ephemeral ports\n"
	"  portcheck 10.0.0.2:29500,30000-30010 # these ports\n"
	"  portcheck node2 --ports nccl,ssh     # lists by name; ray, slurm\n"
	"  portcheck 10.0.0.2:1-65535           # all, in a second or two\n"
	"  portcheck node2:29500 --expect open  # is rank 0 listening?\n"
	"  portcheck 10.0.0.2 --from eth1       # through that interface\n"
	"  portcheck --hosts 'node[1-8]'        # everybody to everybody, as a matrix\n"
	"  export $(portcheck --free)           # a MASTER_PORT; --hosts a,b: of both\n"
	"  portcheck --serve --wait 3           # without ssh: paste a line there\n"
	"  portcheck --hosts lab --bandwidth 2  # and how fast, two seconds each way\n"
	"  portcheck --hosts a,b --idle 6m      # are connections forgotten meanwhile?\n"
	"  portcheck --cloud                    # who the cloud says this machine is\n"
	"  portcheck --cloud --audit            # do its groups let training through?\n"
	"  aws ec2 describe-security-groups --output json | portcheck --cloud --audit -\n"
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

/* Its lines are for who judges them, whatever format is asked for: that is for the verdict. */
static void tell_answer_only(struct app *app)
{
	app->report_opts.answer_only = true;
	app->report_opts.format = "table";
	app->report_opts.output = NULL;
}

/* What a launcher that is not ours, or an allocation, makes of a bare `portcheck`. */
static enum mode bare_mode(struct app *app, struct config *c)
{
	struct world w;

	world_from_env(world_own_env, NULL, &app->arena, &w);
	if (w.launcher != LAUNCHER_NONE && w.launcher != LAUNCHER_ENV && !w.trouble && w.size > 1) {
		if (w.rank > 0) /* one of them speaks */
			tell_answer_only(app);
		return RANK;
	}
	allocation_find(&app->arena, &c->job);
	allocation_go_by(&c->job, c->ask.rsh);
	return c->job.scheduler ? LAUNCH : LOCAL;
}

static void choose_mode(struct app *app, struct config *c)
{
	const struct port_ask *q = &c->ask;

	if (cloud_is_wanted(&cloud))
		c->mode = CLOUD;
	else if (q->is_rank)
		c->mode = RANK;
	else if (q->free)
		c->mode = FREE;
	else if (q->hosts || q->serve)
		c->mode = LAUNCH;
	else if (app->operands.n)
		c->mode = TARGETS;
	else if (!q->why)
		c->mode = bare_mode(app, c);
	if (q->is_rank)
		tell_answer_only(app);
	if (q->free)
		app->report_opts.answer_only = true;
}

/* Ports behind every host: then nothing would ask those of --ports. */
static int check_ports(const struct config *c, struct err *e)
{
	size_t own = 0;

	for (size_t i = 0; i < c->targets.n; i++)
		own += c->targets.v[i].ports.v != c->list.v;
	if (!c->ask.ports || !own || own < c->targets.n)
		return 0;
	err_set(e, ERR_USAGE, "--ports is for hosts that are named without ports of their own");
	return err_hint(e, "leave --ports out, or the ports behind the host");
}

/* Is the sample in the list for those that name no ports? */
static bool list_draws(const struct config *c) { return !c->ask.ports || ports_draw(c->ask.ports); }

/* Who is asked at it; nothing of it is asked where every port is named. */
static int settle_sample(struct config *c, struct err *e)
{
	const struct port_ask *q = &c->ask;
	bool any = !c->targets.n && list_draws(c);

	for (size_t i = 0; i < c->targets.n; i++) {
		struct port_target *t = &c->targets.v[i];

		t->draws |= t->ports.v == c->list.v && list_draws(c);
		any |= t->draws;
	}
	if (!q->sample || q->sample == PORT_SAMPLE || any || c->mode == FREE || q->is_rank)
		return 0;
	err_set(e, ERR_USAGE, "--sample: all ports are named, none is drawn");
	return err_hint(e, "leave it out, or the ports; nccl, ray or slurm among them draw some");
}

static int prepare(struct app *app, void *cfg, struct err *e)
{
	struct port_ask *q = cfg;
	struct config *c = CONTAINER_OF(q, struct config, ask);
	struct arena *a = &app->arena;
	bool asks_cloud = cloud_is_wanted(&cloud);
	str_list none = {0};

	if (port_ask_check(q, &app->operands, asks_cloud, e) || hosts_settle(&q->hosts, a, e) ||
	    port_env_read(&c->env, q->sample, q->seed, a, e) ||
	    cloud_prepare(&cloud, asks_cloud ? &app->operands : &none, a, e))
		return -1;
	choose_mode(app, c);
	if (c->mode == CLOUD) /* operands are files then */
		return 0;
	if (c->mode == LOCAL && !q->why && port_ask_alone(q, e))
		return -1;
	return port_ask_ports(q, &c->env, a, &c->list, e) ||
			       targets_parse(&app->operands, &c->list, &c->env, a, &c->targets,
					     e) ||
			       check_ports(c, e) || settle_sample(c, e)
		       ? -1
		       : 0;
}

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

static int run_targets(struct app *app, struct config *c, struct facts *f, struct err *e)
{
	const struct port_ask *q = &c->ask;
	struct reach_opts ro = {.udp = q->udp,
				.count = (unsigned)q->count,
				.patience_ns = port_ask_patience(q, app->common.deadline_ns)};
	struct say_opts so = {.expect_open = port_ask_open(q),
			      .from = f->inv.hostname,
			      .drawn = q->ports ? NULL : &c->list,
			      .sample = &c->env.sample};
	uint64_t began_ns;
	struct reach r;

	if (q->from && reach_from(q->from, f, &ro, e))
		return -1;
	targets_resolve(&c->targets, f, app->common.deadline_ns);
	if (interrupt_pending())
		return interrupt_err(e);
	began_ns = now_ns();
	if (reach_run(&c->targets, f, &ro, &r, e))
		return -1;
	own_neighbours(&r, &c->targets);
	own_limits(&r);
	own_counted(&r);
	own_paths(&r, &c->targets, &ro, f);
	own_options(&r, &c->targets);
	own_seen(&r, &c->targets, f, began_ns);
	if (!q->from)
		own_ways(&r, &c->targets, f);
	own_links(&r, &c->targets, f);
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
	const char *why = c->ask.why;
	AUTO(local_done) struct local l;

	if (!why)
		cloud_beside_start(&beside, q.deadline_ns);
	local_read(&l, f, &c->env, app->common.deadline_ns);
	if (why)
		mesh_why(&l, why, app->report);
	else
		local_judge(&l, app->report);
	if (!why)
		cloud_beside_report(&beside, &q);
	if (report_wants_data(app->report))
		local_data(&l, report_data(app->report));
	report_covers(app->report, "this host only; nothing between hosts was tested");
	return 0;
}

static int run_launch(struct app *app, struct config *c, struct err *e)
{
	const struct port_ask *q = &c->ask;
	const struct allocation *job = &c->job;
	const char *hosts = q->hosts ?: job->hosts;
	struct mesh_opts o = port_ask_mesh(q, &c->list, app->common.deadline_ns);

	o.srun = job->srun;
	o.rsh = o.rsh ?: job->rsh;
	if (hosts && !o.srun && hosts_from_arg(hosts, &app->arena, &o.hosts, e))
		return -1;
	if (o.srun && hostlist_parse(hosts, &app->arena, &o.hosts, e))
		return -1;
	return mesh_launch(&o, &c->env, &app->arena, app->report, e);
}

static int run_free(struct app *app, struct config *c, struct err *e)
{
	const struct port_ask *q = &c->ask;
	struct mesh_opts o = port_ask_mesh(q, &c->list, app->common.deadline_ns);

	if (q->hosts && hosts_from_arg(q->hosts, &app->arena, &o.hosts, e))
		return -1;
	return free_find(&o, q->hosts, &c->env, &app->arena, app->report, e);
}

/* That others did not come, or were lost, is a word on the cluster; to our launcher it is known. */
static int left_alone(struct app *app, const struct world_run *w, struct err *e)
{
	if (w->world.launcher == LAUNCHER_WINDSOCK)
		return -1;
	mesh_failed(e->msg, app->report);
	*e = (struct err){0};
	return 0;
}

static int run_rank(struct app *app, struct config *c, struct facts *f, struct err *e)
{
	struct mesh_opts o = port_ask_mesh(&c->ask, &c->list, app->common.deadline_ns);
	/* The others may still be asking when we are done. */
	const struct world_opts wo = {.rank = -1,
				      .size = -1,
				      .deadline_ns = o.deadline_ns + 20 * NS_PER_S +
						     (o.patience_ns + NS_PER_S) * o.count +
						     2 * o.rate_ns};
	struct world_run w;
	bool lost;
	int rc;

	if (world_start(&wo, &app->arena, &w, e))
		return w.missing ? left_alone(app, &w, e) : -1;
	for (size_t i = 0; w.notes[i]; i++)
		log_say("%s", w.notes[i]);
	if (!w.rdzv)
		return err_set(e, ERR_USAGE, "--mesh-rank is for our own launcher");
	rc = mesh_rank(&o, &c->env, &w, f, app->report, e);
	lost = rc && rdzv_why(w.rdzv) == RDZV_LOST && !interrupt_pending();
	world_stop(&w, rc ? e->msg : NULL);
	return lost ? left_alone(app, &w, e) : rc;
}

static int run(struct app *app, void *cfg, struct err *e)
{
	struct port_ask *q = cfg;
	struct config *c = CONTAINER_OF(q, struct config, ask);
	AUTO(facts_done) struct facts f = {0};

	if (c->mode == CLOUD) {
		struct cloud_run run = cloud_question(app, c);

		return cloud_run(&run, e);
	}
	if (c->mode == LAUNCH)
		return run_launch(app, c, e);
	if (c->mode == FREE)
		return run_free(app, c, e);
	if (facts_read(&f, FACTS_NET | FACTS_RDMA | FACTS_SETTINGS, &app->arena, e))
		return -1;
	if (c->mode == RANK)
		return run_rank(app, c, &f, e);
	return c->mode == TARGETS ? run_targets(app, c, &f, e) : run_local(app, c, &f);
}

/* A rank that cannot meet its own agent wants to hear of the rule. */
static bool is_other(int argc, char **argv, int *ret_code, struct err *e)
{
	loopback_explained_by(local_explain_loopback);
	return launch_intercept(argc, argv, ret_code, e);
}

static struct config config;
static const struct app_spec spec = {
	.cmd = {.name = "portcheck",
		.summary = "can every node reach every node on the ports that training uses",
		.synopsis = "[OPTIONS] [HOST[:PORTS]...]",
		.about = about,
		.examples = examples,
		.operand = "HOST[:PORTS]",
		.operand_complete = OPT_C_HOST},
	.rows = port_ask_rows,
	.nrows = PORT_ASK_NROWS,
	.cfg = &config.ask,
	.shared = {cloud_rows, CLOUD_NROWS, &cloud},
	.prepare = prepare,
	.run = run,
	.instead = is_other,
};

int main(int argc, char **argv)
{
	config.ask = port_ask_defaults;
	return app_main(&spec, argc, argv);
}
