/* The launcher's end of the mesh: a rank on every host, and what they say judged. */
#include "probes/port/mesh.h"

#include "lib/cluster/loopback.h"
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/net/own_addr.h"
#include "lib/report/json.h"
#include "probes/port/quiet.h"

#include <sys/mman.h>
#include <sys/stat.h>

static const char *milliseconds(struct arena *a, const char *option, uint64_t ns)
{
	return arena_printf(a, "--%s=%.0fms", option, (double)ns / NS_PER_MS);
}

static const char *const *rank_argv(const struct mesh_opts *o, struct arena *a)
{
	str_list l = {0};

	*LIST_ADD(a, &l) = "portcheck";
	*LIST_ADD(a, &l) = "--mesh-rank";
	*LIST_ADD(a, &l) = milliseconds(a, "silence", o->patience_ns);
	*LIST_ADD(a, &l) = milliseconds(a, "deadline", o->deadline_ns);
	*LIST_ADD(a, &l) = arena_printf(a, "--count=%u", o->count);
	*LIST_ADD(a, &l) = arena_printf(a, "--sample=%zu", o->sample);
	if (o->ports) /* what a name stands for is drawn by lot, in part: once for all of them */
		*LIST_ADD(a, &l) = arena_printf(a, "--ports=%s", ports_spell(o->ports, a));
	if (o->expect_open)
		*LIST_ADD(a, &l) = "--expect=open";
	if (o->rate_ns)
		*LIST_ADD(a, &l) = milliseconds(a, "bandwidth", o->rate_ns);
	if (o->idle_ns)
		*LIST_ADD(a, &l) = milliseconds(a, "idle", o->idle_ns);
	*LIST_ADD(a, &l) = NULL;
	return l.v;
}

/* Hundreds of ranks ask each other all at once, and the one who hears them all is late. */
static uint64_t heartbeat(const struct mesh_opts *o)
{
	const uint64_t usual = 10 * NS_PER_S, each = 100 * NS_PER_MS;

	return usual + each * (o->hosts.n + o->joiners);
}

/* What the ranks have told so far ends, where they are silent, in a line of that. */
struct waiting {
	int fd;
	uint64_t idle_ns, began_ns;
};

static bool is_silent(int fd)
{
	char tail[4096];
	const off_t size = sizeof(tail);
	struct stat is;
	ssize_t n;

	if (fstat(fd, &is))
		return false;
	n = pread(fd, tail, sizeof(tail), is.st_size > size ? is.st_size - size : 0);
	return n > 0 && memmem(tail, (size_t)n, MESH_IDLE_LINE, strlen(MESH_IDLE_LINE));
}

static void show_waiting(void *arg)
{
	struct waiting *w = arg;

	if (!w->began_ns && is_silent(w->fd))
		w->began_ns = now_ns();
	if (w->began_ns)
		quiet_show(now_ns() - w->began_ns, w->idle_ns);
}

/* --- what came of it ----------------------------------------------------------------- */
/* What was said of where they join, to be typed again. */
static const char *serve_again(const struct mesh_opts *o, struct arena *a)
{
	const char *port = o->serve_port ? arena_printf(a, " --port %u", o->serve_port) : "";

	return o->joiners > 1 ? arena_printf(a, "%s --wait %u", port, o->joiners) : port;
}

static void no_answer(const struct mesh_opts *o, const struct launch_host *h, struct tally *t)
{
	struct finding *f = tally_add(t, 0, "hosts", "host.answer", h->name);
	const char *fix = launch_fix(h, f->a);

	tally_of_host(t, h->name);
	finding_set(f, ST_FAIL, "%s", h->trouble);
	finding_expect(f, "portcheck running on %s", h->name);
	if (fix)
		finding_fix(f, "%s", fix);
	else if (o->serve)
		finding_fix(f, "portcheck --serve%s   # again, and the new line on %s",
			    serve_again(o, f->a), h->hostname ?: h->name);
	else if (o->srun)
		finding_fix(f,
			    "SLURM_OVERLAP=1 srun -N1 -n1 -w %s portcheck --version   # from here",
			    h->name);
	else
		finding_fix(
			f, "%s   # must work without a password",
			typed_there(f->a, rsh_typed(f->a, o->rsh), h->name, "portcheck --version"));
}

/* The line was pasted on too few machines, or did not get through. */
static void nobody_came(const struct mesh_opts *o, const struct launch_result *got,
			struct report *r)
{
	struct finding *f = report_find(r, "host.answer", "joiners");

	finding_set(f, ST_FAIL, "%s", got->failure);
	finding_expect(f, "the line pasted on %u other machine%s", o->joiners,
		       o->joiners == 1 ? "" : "s");
	if (got->fix)
		finding_fix(f, "%s", got->fix);
	finding_fix(f, "portcheck --serve%s   # again; --wait-time gives people longer",
		    serve_again(o, f->a));
	report_add(r, f);
}

/* The others joined at an address that is gone: it is not they who went away. */
static bool has_moved(const struct mesh_opts *o, const struct launch_result *got, struct report *r)
{
	struct addr_text door;
	struct finding *f;
	char own[64] = "";

	if (!got->door.sa.sa_family || own_addr(&got->door))
		return false;
	(void)gethostname(own, sizeof(own) - 1);
	f = report_find(r, "mesh.address", arena_strdup(report_arena(r), own));
	finding_set(f, ST_FAIL,
		    "the address of this host at which the others joined, %s, went away meanwhile",
		    addr_print_port(&got->door, &door));
	finding_expect(f, "an address that stays: typed, or one that is given anew in time");
	finding_fix(f, "ip address; portcheck --serve%s   # again, once it has one that stays",
		    serve_again(o, f->a));
	report_add(r, f);
	return true;
}

/* Nobody meets anybody through this host then. */
static bool is_cut_off(struct report *r)
{
	struct err why = {0};
	struct finding *f;
	char own[64] = "";

	if (!loopback_check(&why) || !*why.hint)
		return false;
	(void)gethostname(own, sizeof(own) - 1);
	f = report_find(r, "host.answer", arena_strdup(report_arena(r), own));
	finding_set(f, ST_FAIL, "%s", why.msg);
	finding_expect(f, "lo let through");
	finding_fix(f, "%s", err_fix(&why, f->a));
	report_add(r, f);
	return true;
}

/* All that srun was to start it refused for a reason of its own: no word on the hosts. */
static int srun_failed(const struct launch_result *got, struct err *e)
{
	const char *why = NULL;
	char own[64] = "";

	(void)gethostname(own, sizeof(own) - 1);
	for (size_t i = 0; i < got->nhosts; i++) {
		const struct launch_host *h = &got->hosts[i];

		if (h->trouble ? !h->way_broken : !streq(h->hostname ?: "", own))
			return 0;
		why = why ?: h->trouble;
	}
	if (!why)
		return 0;
	err_set(e, ERR_SYS, "srun starts nothing here: %s", why);
	return err_command(e,
			   "SLURM_OVERLAP=1 srun hostname   # by hand; or name the hosts for ssh: "
			   "--hosts \"$SLURM_JOB_NODELIST\"");
}

void mesh_failed(const char *why, struct report *r)
{
	struct finding *f = report_find(r, "mesh.run", NULL);

	finding_set(f, ST_FAIL, "%s", why);
	finding_expect(f, "all ranks to the end");
	finding_fix(f, "portcheck   # on that host: its own part");
	report_add(r, f);
}

/* The lines of @in, once for each pass; those that are not rank 0's JSON are somebody's remark. */
static void read_lines(struct mesh *m, FILE *in)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	for (enum mesh_pass pass = 0; pass < MESH_PASSES; pass++) {
		rewind(in);
		while ((len = getline(&line, &cap, in)) > 0) {
			struct err ignored;
			cJSON *doc =
				*line == '{' ? json_parse(line, (size_t)len, 8, &ignored) : NULL;

			if (doc)
				mesh_take(m, pass, doc);
			cJSON_Delete(doc);
		}
	}
	free(line);
}

static bool mesh_knows(const struct mesh *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->nodes[i].asked)
			return true;
	return false;
}

/* 0, or -1 with @e: where no host failed, that a rank could not begin is an error of ours. */
static int judge(const struct mesh_opts *o, const struct launch_result *got, FILE *in,
		 struct arena *a, struct report *r, struct err *e)
{
	size_t *nodes = arena_alloc(a, (got->nranks + 1) * sizeof(*nodes));
	struct mesh m;
	int rc = 0;

	mesh_init(&m, o, got->nhosts, a, r);
	for (size_t i = 0; i < got->nhosts; i++) {
		const struct launch_host *h = &got->hosts[i];

		m.nodes[i].name = o->hosts.n ? h->name : h->hostname ?: h->name;
		if (h->trouble)
			no_answer(o, h, &m.told);
		for (int k = 0; k < h->ranks; k++)
			nodes[h->first + k] = i;
	}
	m.rank_node = nodes;
	m.nranks = got->nranks;
	m.cut = got->failure || interrupt_pending();
	tally_emit(&m.told);
	read_lines(&m, in);
	if (!report_count(r, ST_FAIL) && launch_unable(got, e))
		rc = -1;
	else if (got->failure && got->nranks && !interrupt_pending())
		mesh_failed(got->failure, r);
	if ((!rc && !interrupt_pending()) || mesh_knows(&m)) /* what was finished is still said */
		mesh_conclude(&m);
	return rc;
}

/* Taken while those who joined are still there to be told. */
struct ending {
	const struct mesh_opts *o;
	FILE *in;
	struct arena *a;
	struct report *r;
	struct err *e;
	int rc;
};

static int conclude(const struct launch_result *got, const struct ending *x)
{
	const struct mesh_opts *o = x->o;

	if (o->srun && srun_failed(got, x->e))
		return -1;
	if (o->serve && !got->nranks && got->failure && !interrupt_pending()) {
		nobody_came(o, got, x->r);
		return 0;
	}
	if (!got->nhosts && !interrupt_pending())
		mesh_failed(got->failure ?: "nobody takes part", x->r);
	if (got->failure && !interrupt_pending() && has_moved(o, got, x->r))
		return 0;
	if (got->nhosts && judge(o, got, x->in, x->a, x->r, x->e))
		return -1;
	return interrupt_pending() ? interrupt_err(x->e) : 0;
}

static int on_over(const struct launch_result *got, void *arg)
{
	struct ending *x = arg;

	x->rc = conclude(got, x);
	return report_code(x->r, x->e);
}

static int launch(const struct mesh_opts *o, const struct port_env *env, int out, struct arena *a,
		  struct ending *ending, struct err *e)
{
	const char *vars[] = {arena_printf(a, "MASTER_PORT=%u", env->master), NULL};
	struct waiting w = {.fd = out, .idle_ns = o->idle_ns};
	struct launch_opts l = {.hosts = &o->hosts,
				.rsh = o->rsh,
				.srun = o->srun,
				.copy_self = o->copy_self,
				.keep = o->keep,
				.serve = o->serve,
				.serve_port = o->serve_port,
				.serve_ns = o->join_ns,
				.wait = o->joiners,
				.np_per_host = 1,
				.partial = true,
				.argv = rank_argv(o, a),
				.env = env->master_said ? vars : NULL,
				.heartbeat_ns = heartbeat(o),
				.deadline_ns = o->deadline_ns + 20 * NS_PER_S,
				.out_fd = out,
				.err_fd = STDERR_FILENO,
				.raw = true,
				.tick = o->idle_ns ? show_waiting : NULL,
				.tick_arg = &w,
				.judge = on_over,
				.judge_arg = ending};
	struct launch_result got;
	struct unit_buf b;
	int rc;

	if (o->idle_ns)
		log_say("connections will be silent for %s; Ctrl-C gives what is known by then",
			format_duration(&b, o->idle_ns));
	rc = launch_run(&l, a, &got, e);
	log_progress_end();
	return rc;
}

int mesh_launch(const struct mesh_opts *o, const struct port_env *env, struct arena *a,
		struct report *r, struct err *e)
{
	int fd = memfd_create("mesh", MFD_CLOEXEC);
	AUTO_FILE FILE *in = fd >= 0 ? fdopen(fd, "r+") : NULL;
	struct ending x = {.o = o, .in = in, .a = a, .r = r, .e = e};

	if (!in)
		return err_sys(e, "no memory for what the hosts say");
	if (is_cut_off(r))
		return 0;
	return launch(o, env, fd, a, &x, e) ? -1 : x.rc;
}
