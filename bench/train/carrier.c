#include "bench/train/carrier.h"

#include "bench/comm/async.h"
#include "bench/ranks/address.h"
#include "bench/ranks/mpirun.h"
#include "lib/core/interrupt.h"
#include "lib/net/own_addr.h"

#include <net/if.h>

struct possession { /* what each rank tells all others; travels as it is */
	char backend[16], trouble[320], hint[240];
	int32_t kind;	      /* enum err_kind */
	uint64_t deadline_ns; /* all take the longest: else who has the shortest ends the run */
	uint8_t has_nccl;     /* asked for nothing else, and could have it; if not, ... */
	char lacks[320], lacks_hint[240];
	char interface[IF_NAMESIZE]; /* that has its address; "": loopback, or unknown */
};

bool carrier_is_tcp(const struct carrier *c) { return !c->plugin || c->plugin == &comm_tcp; }

bool carrier_has_failed(struct carrier *c)
{
	struct err ignored;
	bool finished;

	if (!c->comm || comm_test(c->comm, &finished, &ignored))
		return true;
	if (!c->gpu_comm || !comm_test(c->gpu_comm, &finished, &ignored))
		return false;
	c->check = c->gpu_plugin->failed_check ? c->gpu_plugin->failed_check() : NULL;
	return c->check;
}

bool carrier_stands_still(const struct carrier *c)
{
	return c->check && streq(c->check, CARRIER_STANDS_STILL);
}

static const struct comm_plugin *find(const char *backend, const struct comm_world *w,
				      struct arena *a, struct err *e)
{
	const struct comm_plugin *p = backend_find(backend, a, e);
	char text[400];

	if (!p || (p->probe && p->probe(w, text, sizeof(text), e)))
		return NULL;
	return p;
}

int carrier_check(const char *backend, struct arena *a, struct err *e)
{
	const struct comm_world w = {.stop_fds = {-1, -1}};

	return find(backend, &w, a, e) ? 0 : -1;
}

/* --- a rank ------------------------------------------------------------------------------ */

static int exchange(void *arg, const void *mine, size_t n, void *all, struct err *e)
{
	return rdzv_all_gather(arg, mine, n, all, e);
}

/* Only Slurm starts ranks of an MPI whose mpirun has no part in it. */
static int check_launcher(const char *backend, const struct world *w, struct arena *a,
			  struct err *e)
{
	struct mpirun mpi;

	if (!starts_with(backend, "mpi") || w->launcher == LAUNCHER_SRUN)
		return 0;
	if (mpirun_find(backend, a, &mpi, e))
		return -1;
	if (!mpi.path)
		return 0;
	err_set(e, ERR_USAGE, "--backend %s: %s started this rank, and MPI's own mpirun has to",
		backend, launcher_name(w->launcher));
	return err_hint(e, "mpirun -np %d ddpsmoke --backend %s; or --backend gloo", w->size,
			backend);
}

/* As relay_error_take() has it: what a peer says is not to be trusted. */
static enum err_kind kind_of(const struct possession *p)
{
	return p->kind == ERR_USAGE || p->kind == ERR_ABSENT ? (enum err_kind)p->kind : ERR_SYS;
}

static int judge(struct carrier *c, const struct possession *all, const struct rdzv_member *m,
		 int *ret_culprit, struct err *e)
{
	for (int r = 0; r < c->world.size; r++) {
		const struct possession *p = &all[r];
		enum err_kind kind = kind_of(p);
		bool said = m[r].host && *m[r].host;

		if (!*p->trouble)
			continue;
		err_set(e, kind, "rank %d%s%.60s%s: %.320s", r, said ? " (" : "",
			said ? m[r].host : "", said ? ")" : "", p->trouble);
		if (r == c->world.rank)
			err_set(e, kind, "%.320s", p->trouble);
		return *p->hint ? err_take_fix(e, p->hint) : -1;
	}
	for (int r = 1; r < c->world.size; r++) {
		if (streq(all[r].backend, all[0].backend))
			continue;
		c->check = "rank.alike";
		c->all_know = true;
		*ret_culprit = r;
		err_set(e, ERR_SYS,
			"rank %d (%.60s) was started with --backend %.16s, rank 0 %s%.16s", r,
			m[r].host, all[r].backend, "with ", all[0].backend);
		return err_hint(e, "start every rank with the same command line");
	}
	return 0;
}

/* Nothing was asked for, and gradients are on GPUs: NCCL, where it can be had. */
static const struct comm_plugin *find_nccl(const struct comm_world *w, struct arena *a,
					   struct possession *own, struct err *sick)
{
	struct err lacks = {0};
	const struct comm_plugin *p = find("nccl", w, a, &lacks);

	own->has_nccl = p != NULL;
	(void)snprintf(own->lacks, sizeof(own->lacks), "%.319s", lacks.msg);
	(void)snprintf(own->lacks_hint, sizeof(own->lacks_hint), "%.239s",
		       err_fix(&lacks, a) ?: "");
	if (!p && lacks.kind != ERR_ABSENT)
		*sick = lacks;
	return p;
}

/* All of them, or who keeps the others from it. */
static bool all_have_nccl(struct carrier *c, const struct possession *all,
			  const struct rdzv_member *m, struct arena *a)
{
	for (int r = 0; r < c->world.size; r++) {
		if (all[r].has_nccl)
			continue;
		c->note = arena_printf(a, "rank %d (%s): %s", r, m[r].host,
				       *all[r].lacks ? all[r].lacks : "was told of TCP");
		c->fix = *all[r].lacks_hint ? arena_strdup(a, all[r].lacks_hint) : NULL;
		return false;
	}
	return true;
}

static void keep_interfaces(struct carrier *c, const struct possession *all, struct arena *a)
{
	c->interfaces = arena_alloc(a, (size_t)c->world.size * sizeof(*c->interfaces));
	for (int r = 0; r < c->world.size; r++) {
		const char *name = all[r].interface;

		c->interfaces[r] =
			*name ? arena_strndup(a, name, strnlen(name, IF_NAMESIZE - 1)) : NULL;
	}
}

/* All have it, or all know who has not. */
static int compare(struct carrier *c, const struct carrier_want *want, struct world_run *w,
		   struct arena *a, int *ret_culprit, struct err *e)
{
	AUTO_FREE struct possession *all = calloc((size_t)c->world.size, sizeof(*all));
	const struct rdzv_member *m;
	bool wants_nccl = streq(want->backend, "auto") && want->on_gpu && c->world.size > 1;
	const struct comm_plugin *nccl = NULL;
	struct possession own = {0};
	struct err sick = {0};
	size_t n;

	if (!all)
		return err_sys(e, "no memory for %d ranks", c->world.size);
	if (!check_launcher(want->backend, &w->world, a, &sick))
		c->plugin = find(want->backend, &c->world, a, &sick);
	if (wants_nccl)
		nccl = find_nccl(&c->world, a, &own, &sick);
	(void)snprintf(own.backend, sizeof(own.backend), "%s",
		       c->plugin ? c->plugin->name : want->backend);
	(void)snprintf(own.trouble, sizeof(own.trouble), "%.319s", sick.msg);
	(void)snprintf(own.hint, sizeof(own.hint), "%.239s", err_fix(&sick, a) ?: "");
	own.kind = (int32_t)sick.kind;
	(void)snprintf(own.interface, sizeof(own.interface), "%s",
		       own_addr_interface(&c->world.at, a) ?: "");
	own.deadline_ns = c->world.deadline_ns;
	if (rdzv_members(w->rdzv, &m, &n, e) || rdzv_all_gather(w->rdzv, &own, sizeof(own), all, e))
		return -1;
	for (int r = 0; r < c->world.size; r++) { /* texts of others end */
		all[r].backend[sizeof(own.backend) - 1] = '\0';
		all[r].trouble[sizeof(own.trouble) - 1] = all[r].hint[sizeof(own.hint) - 1] = '\0';
		all[r].lacks[sizeof(own.lacks) - 1] = '\0';
		all[r].lacks_hint[sizeof(own.lacks_hint) - 1] = '\0';
		if (all[r].deadline_ns > c->world.deadline_ns)
			c->world.deadline_ns = all[r].deadline_ns;
	}
	keep_interfaces(c, all, a);
	if (judge(c, all, m, ret_culprit, e))
		return -1;
	if (wants_nccl && all_have_nccl(c, all, m, a))
		c->plugin = nccl;
	return 0;
}

static int fill_world(struct comm_world *c, const struct carrier_want *want, struct world_run *w,
		      struct err *e)
{
	const struct rdzv_member *m;
	int rank = rdzv_rank(w->rdzv);
	size_t n;

	if (rdzv_members(w->rdzv, &m, &n, e))
		return -1;
	*c = (struct comm_world){.rank = rank,
				 .size = w->world.size,
				 .local_rank = w->world.local_rank > 0 ? w->world.local_rank : 0,
				 .local_size = w->world.local_size > 0 ? w->world.local_size : 1,
				 .host = m[rank].host,
				 .deadline_ns = want->deadline_ns,
				 .deadline_given = want->deadline_given,
				 .stop_fds = {interrupt_fd(), rdzv_failure_fd(w->rdzv)},
				 .exchange = exchange,
				 .arg = w->rdzv};
	return 0;
}

static int connect_gpus(struct carrier *c, int *ret_culprit, struct err *e)
{
	const struct comm_plugin *p = c->gpu_plugin;

	c->gpu_dev = p->dev_new(&c->world, e);
	if (c->gpu_dev)
		c->gpu_comm = p->comm_new(&c->world, c->gpu_dev, ret_culprit, e);
	if (c->gpu_comm)
		return 0;
	c->check = p->failed_check ? p->failed_check() : NULL;
	return -1;
}

int carrier_connect(struct carrier *c, const struct carrier_want *want, struct world_run *w,
		    struct arena *a, int *ret_culprit, struct err *e)
{
	const struct comm_plugin *p;

	*c = (struct carrier){0};
	*ret_culprit = -1;
	if (fill_world(&c->world, want, w, e))
		return -1;
	c->lacks_address = rank_address(w->rdzv, &c->world.at, e) != 0;
	if (c->lacks_address || compare(c, want, w, a, ret_culprit, e))
		return -1;
	if (streq(c->plugin->name, "nccl")) {
		c->gpu_plugin = c->plugin;
		c->plugin = &comm_tcp;
	}
	p = c->plugin;
	c->dev = p->dev_new(&c->world, e);
	if (!c->dev)
		return -1;
	c->comm = carrier_is_tcp(c) ? p->comm_new(&c->world, c->dev, ret_culprit, e)
				    : async_comm_new(p, &c->world, c->dev, ret_culprit, e);
	if (!c->comm && p->failed_check)
		c->check = p->failed_check();
	if (!c->comm)
		return -1;
	return c->gpu_plugin ? connect_gpus(c, ret_culprit, e) : 0;
}

void carrier_give_up(struct carrier *c)
{
	if (c->comm && carrier_is_tcp(c)) /* libraries' are not waited for, once one has failed */
		comm_abort(c->comm, "this rank is at its end");
}

void carrier_free(struct carrier *c)
{
	comm_free(c->gpu_comm);
	if (c->gpu_dev && c->gpu_plugin->dev_free)
		c->gpu_plugin->dev_free(c->gpu_dev);
	c->gpu_comm = NULL;
	c->gpu_dev = NULL;
	comm_free(c->comm);
	if (c->dev && c->plugin->dev_free)
		c->plugin->dev_free(c->dev);
	c->comm = NULL;
	c->dev = NULL;
}
