#include "bench/ranks/where.h"

#include "bench/ranks/mpirun.h"
#include "bench/ranks/room.h"
#include "lib/cluster/allocation.h"
#include "lib/cluster/rsh.h"
#include "lib/core/log.h"
#include "lib/core/units.h"

#define AT(field) .off = offsetof(struct where, field)
#define LONGEST (365 * 24 * 3600 * NS_PER_S)

static const uint64_t MEET_NS = 30 * NS_PER_S, HEARTBEAT_NS = 10 * NS_PER_S; /* as help says */

const struct opt where_rows[WHERE_NROWS] = {
	{.help = "Where the ranks are (else: here, or what torchrun, srun or mpirun started)"},
	{0, "np", "N", "ranks in all", OPT_UINT, AT(np), .min = 1, .max = 4096,
	 .def = "one per GPU here, else 2; one per host or slot with --hosts"},
	{0, "np-per-host", "N", "ranks on each host", OPT_UINT, AT(np_per_host), .min = 1,
	 .max = 4096},
	{0, "hosts", "LIST",
	 "start them there over ssh: a list, a Slurm hostlist, a hostfile (-: stdin), or the word "
	 "lab",
	 OPT_STR, AT(hosts), .complete = OPT_C_HOSTS},
	{0, "rsh", "CMD", "instead of ssh", OPT_STR, AT(rsh), .env = "WINDSOCK_RSH"},
	{0, "srun", NULL, "start them with srun, in an allocation of Slurm's", OPT_BOOL, AT(srun)},
	{OPT_COPY_SELF, AT(copy_self)},
	{OPT_KEEP, AT(keep)},
	{0, "partial", NULL, "leave hosts out that cannot be reached", OPT_BOOL, AT(partial)},
	{0, "parallel", "N", "hosts being reached at a time", OPT_UINT, AT(parallel), .max = 4096,
	 .def = "32"},
	{0, "serve", NULL, "print a line to paste on the other machines; no ssh", OPT_BOOL,
	 AT(serve), .beside = "wait"},
	{0, "wait", "N", "with --serve: how many machines will join", OPT_UINT, AT(wait), .min = 1,
	 .max = 4096, .def = "1"},
	{0, "wait-time", "TIME", "with --serve: the longest wait for them", OPT_DURATION,
	 AT(serve_ns), .def = "10m"},
	{0, "port", "PORT", "with --serve: where they join", OPT_UINT, AT(port), .min = 1,
	 .max = 65535, .def = "29499"},
	{0, "no-local", NULL, "with --serve: this machine has no rank", OPT_BOOL, AT(no_local)},
	{0, "init", "URL", "meet as PyTorch does: tcp://HOST:PORT, file:///PATH, env://", OPT_STR,
	 AT(init)},
	{0, "rank", "N", "with --init: which rank this is", OPT_UINT, AT(rank), .max = 1 << 20},
	{0, "world-size", "N", "with --init: of how many", OPT_UINT, AT(size), .min = 1,
	 .max = 1 << 20},
	{0, "deadline", "TIME", "the longest wait without progress", OPT_DURATION, AT(deadline_ns),
	 .min = NS_PER_MS, .max = LONGEST, .def = "10s; to reach hosts and to meet 30s"},
	{0, "heartbeat", "TIME", "a rank that is silent for so long is lost", OPT_DURATION,
	 AT(heartbeat_ns), .min = 100 * NS_PER_MS, .def = "10s"},
	{0, "require-token", NULL, "refuse ranks without WINDSOCK_TOKEN", OPT_BOOL,
	 AT(require_token)},
};

static bool is_ours(const struct world *w)
{
	return w->launcher == LAUNCHER_WINDSOCK || mpirun_relays();
}

bool where_is_ours(void)
{
	AUTO(arena_done) struct arena a = {0};
	struct world w;

	world_from_env(world_own_env, NULL, &a, &w);
	return is_ours(&w);
}

/*
 * A rank of ours has the options of the command that started it. A lone process of another
 * launcher may start several (srun --pty, mpirun -np 1); one of many is one of them.
 */
static bool is_launching(const struct where *w)
{
	AUTO(arena_done) struct arena a = {0};
	struct world world;

	world_from_env(world_own_env, NULL, &a, &world);
	if (is_ours(&world))
		return false;
	return w->np || w->np_per_host || w->hosts || w->serve || w->srun ||
	       (w->each > 1 && !w->init && world.size <= 1);
}

bool where_is_bare(const struct where *w) { return !w->init && w->each <= 1 && !is_launching(w); }

bool where_is_here(const struct where *w) { return !w->hosts && !w->serve && !w->srun; }

/* --- what goes with what --------------------------------------------------------------- */

/* What says more about something that was not asked for. */
static int check_bases(const struct where *w, struct err *e)
{
	static const char serve[] = "--serve, which prints a line to paste on other machines";
	static const char init[] = "--init, as in --init tcp://10.0.0.1:29500 --rank 1 "
				   "--world-size 2";
	static const char hosts[] = "--hosts or --srun";
	bool reached = w->hosts || w->srun;
	const struct opt_need needed[] = {
		{w->wait, w->serve, "--wait", serve},
		{w->serve_ns, w->serve, "--wait-time", serve},
		{w->port, w->serve, "--port", serve},
		{w->no_local, w->serve, "--no-local", serve},
		{w->rank != WHERE_NOT_GIVEN, w->init, "--rank", init},
		{w->size != WHERE_NOT_GIVEN, w->init, "--world-size", init},
		{w->partial, reached, "--partial", hosts},
		{w->parallel, reached, "--parallel", hosts},
		{w->copy_self, reached, "--copy-self", hosts},
		{w->keep, reached, "--keep", hosts},
	};

	return opt_check_needs(needed, ARRAY_LEN(needed), e);
}

/* A shell of srun --pty has the variables of a rank, and a terminal, which torchrun alone of all
 * leaves to its ranks. */
static bool is_shell(const struct world *w)
{
	return w->launcher != LAUNCHER_TORCHRUN && w->launcher != LAUNCHER_ACCELERATE &&
	       isatty(STDIN_FILENO);
}

/* One of many that a launcher started would start others, and so would each of them. */
static int check_alone(const struct where *w, struct arena *a, struct err *e)
{
	static const char *const launching[] = {"np",	 "np-per-host", "hosts",
						"serve", "srun",	NULL};
	static const struct where nowhere = WHERE_DEFAULTS;
	const struct opt_table t = {where_rows, WHERE_NROWS, (void *)(uintptr_t)w};
	const char *name = opt_given(&t, &nowhere, launching, true, a);
	struct world world;

	world_from_env(world_own_env, NULL, a, &world);
	if (!name || is_ours(&world) || world.size <= 1 || is_shell(&world))
		return 0;
	err_set(e, ERR_USAGE, "%s starts ranks, and this is one of %d that %s started already (%s)",
		name, world.size, launcher_name(world.launcher), world.from);
	return err_hint(e,
			"leave %s out: those %d are the ranks; " WORLD_NO_RANK
			"=1 before the command starts others all the same",
			name, world.size);
}

static int check(const struct where *w, struct arena *a, struct err *e)
{
	if (check_bases(w, e) || check_alone(w, a, e))
		return -1;
	if (w->init && is_launching(w))
		return err_set(e, ERR_USAGE,
			       "--init is for ranks that are started one by one: not with --np, "
			       "--hosts, --serve or --srun");
	if (w->hosts && w->serve)
		return err_set(e, ERR_USAGE,
			       "--hosts and --serve cannot be combined: the first reaches the "
			       "machines, the other waits for them");
	if (w->srun && w->serve)
		return err_set(e, ERR_USAGE,
			       "--srun and --serve cannot be combined: the first starts ranks on "
			       "the machines, the other waits for them");
	return 0;
}

/* --- how many ---------------------------------------------------------------------------- */

/* What launch_run() will make of it; 0: whoever joins decides. */
static int count(const struct launch_opts *l, struct arena *a, uint64_t *ret, struct err *e)
{
	unsigned *counts;

	*ret = l->np;
	if (!l->np && l->serve)
		*ret = l->np_per_host * ((l->wait ? l->wait : 1) + !l->no_local);
	if (!l->hosts->n)
		return 0;
	counts = arena_alloc(a, l->hosts->n * sizeof(*counts));
	if (launch_place(l->hosts, l->np, l->np_per_host, counts, e))
		return -1;
	*ret = 0;
	for (size_t i = 0; i < l->hosts->n; i++)
		*ret += counts[i];
	return 0;
}

/* Of --hosts; of --srun alone, those of the allocation. */
static int find_hosts(const struct where *w, struct arena *a, host_list *ret, struct err *e)
{
	const char *allocated = getenv("SLURM_JOB_NODELIST");

	if (w->hosts)
		return hosts_from_arg(w->hosts, a, ret, e);
	if (!w->srun)
		return 0;
	if (allocated && *allocated)
		return hostlist_parse(allocated, a, ret, e);
	err_set(e, ERR_USAGE,
		"--srun is for an allocation of Slurm's, and this is none (SLURM_JOB_NODELIST is "
		"not set)");
	return err_hint(e, "put salloc -N2 before the command, or name the hosts for ssh: --hosts");
}

void where_launch(const struct where *w, struct launch_opts *ret)
{
	unsigned each = w->each ? (unsigned)w->each : 1;

	*ret = (struct launch_opts){
		.hosts = &w->found,
		.rsh = w->rsh,
		.srun = w->srun,
		.copy_self = w->copy_self || w->keep,
		.keep = w->keep,
		.partial = w->partial,
		.parallel = (unsigned)w->parallel,
		.serve = w->serve,
		.serve_port = (uint16_t)w->port,
		.wait = (unsigned)w->wait,
		.no_local = w->no_local,
		.np = (unsigned)w->np * each,
		.np_per_host = (unsigned)w->np_per_host * each,
		.deadline_ns = w->deadline_ns,
		.deadline_given = w->deadline_given,
		.serve_ns = w->serve_ns,
		.heartbeat_ns = w->heartbeat_ns,
	};
	if (!ret->np_per_host && each > 1)
		ret->np_per_host = each;
	if (where_is_here(w) && !ret->np)
		ret->np = ret->np_per_host ? ret->np_per_host : w->bare ? (unsigned)w->bare : 2;
}

/* --- who we are ---------------------------------------------------------------------------- */

/* A shell of salloc's often is on the login node: who gives no number of ranks means all nodes. */
static void say_passed_over(const struct where *w, struct arena *a)
{
	struct allocation job;
	bool srun;

	if (!where_is_here(w) || w->np || w->np_per_host)
		return;
	allocation_find(a, &job);
	srun = job.srun;
	allocation_go_by(&job, w->rsh);
	if (srun)
		log_say("all ranks are on this host; the allocation has %zu nodes (%s): --srun "
			"starts ranks on each of them",
			job.n, job.hosts);
	else if (job.scheduler)
		log_say("all ranks are on this host; this job of %s has %zu: --hosts %s%s%s%s "
			"starts ranks on each of them",
			job.scheduler, job.n, job.typed, job.rsh ? " --rsh '" : "", job.rsh ?: "",
			job.rsh ? "'" : "");
}

static int number(uint64_t n) { return n == WHERE_NOT_GIVEN ? -1 : (int)n; }

int where_role(struct where *w, struct arena *a, struct where_role *ret, struct err *e)
{
	const struct world_init said = {
		.url = w->init, .rank = number(w->rank), .size = number(w->size)};
	struct launch_opts l;
	struct world world;

	*ret = (struct where_role){.rank = -1};
	if (check(w, a, e))
		return -1;
	/* what is to be typed goes the same way; what they start with it may be WINDSOCK_RSH itself
	 */
	if (w->rsh && setenv(RSH_TYPED, w->rsh, 1))
		return err_sys(e, "cannot pass --rsh on");
	world_from_env(world_own_env, NULL, a, &world);
	ret->relayed = mpirun_relays();
	ret->ours = is_ours(&world);
	if (w->init && !ret->ours && world_from_init(&said, world_own_env, NULL, a, &world, e))
		return -1;
	ret->is_rank =
		ret->ours || w->init || (world.launcher != LAUNCHER_NONE && !is_launching(w));
	if (!ret->is_rank && world.trouble && !is_launching(w))
		return err_set(e, ERR_USAGE, "%s", world.trouble);
	if (!ret->is_rank) {
		if (find_hosts(w, a, &w->found, e))
			return -1;
		where_launch(w, &l);
		if (count(&l, a, &ret->size, e))
			return -1;
		ret->here = where_is_here(w) ? ret->size : 0;
		say_passed_over(w, a);
		return 0;
	}
	ret->rank = world.rank;
	ret->size = world.size > 0 ? (uint64_t)world.size : 0;
	ret->here = world.local_size > 0 ? (uint64_t)world.local_size : 0;
	return 0;
}

bool where_reports(const struct where_role *role)
{
	return !role->is_rank || (!role->ours && role->rank <= 0);
}

/* --- whether there is room for all, and time ------------------------------------------------ */

const char *where_deadline(struct where *w, const struct where_role *role, struct arena *a,
			   uint64_t *ret_deadline_ns)
{
	struct unit_buf usual, now;
	struct room room;
	unsigned patience;

	w->deadline_given = w->deadline_ns;
	if (w->deadline_given) {
		*ret_deadline_ns = w->deadline_ns;
		return NULL;
	}
	room_read(&room);
	patience = room_patience(&room, role->here);
	if (patience == 1)
		return NULL;
	w->deadline_ns = MEET_NS * patience;
	w->heartbeat_ns = w->heartbeat_ns ? w->heartbeat_ns : HEARTBEAT_NS * patience;
	(void)format_duration(&usual, *ret_deadline_ns);
	*ret_deadline_ns *= patience;
	return arena_printf(a,
			    "%zu ranks share %u processor%s: what is waited for is waited for %s "
			    "instead of %s (--deadline)",
			    (size_t)role->here, room.processors, room.processors == 1 ? "" : "s",
			    format_duration(&now, *ret_deadline_ns), usual.s);
}

int where_fits(const struct where *w, const struct where_role *role, unsigned links, struct err *e)
{
	const struct room_need need = {
		.ranks = role->size, .links = links, .each = (unsigned)w->each};
	struct room room;

	if (role->is_rank || !where_is_here(w))
		return 0;
	room_read(&room);
	return room_check(&room, &need, e);
}

struct world_opts where_world(const struct where *w)
{
	return (struct world_opts){.init = w->init,
				   .rank = number(w->rank),
				   .size = number(w->size),
				   .launching = is_launching(w),
				   .require_token = w->require_token,
				   .deadline_ns = w->deadline_ns,
				   .deadline_given = w->deadline_given,
				   .heartbeat_ns = w->heartbeat_ns};
}
