#include "probes/preflight/allocation.h"

#include "lib/cluster/hostlist.h"
#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "probes/preflight/part.h"

static const char *own_srun(struct arena *a)
{
	const char *self = self_path(a);

	if (!self || !part_find(a, "srun"))
		return NULL;
	return arena_printf(a, "%s --srun", shell_quote(a, self));
}

static const char *given(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

/* A step of several tasks runs us as often: the first does it for all. */
static bool slurm(struct arena *a, struct allocation *ret)
{
	const char *nodes = given("SLURM_JOB_NODELIST"), *n = given("SLURM_JOB_NUM_NODES");
	const char *tasks = given("SLURM_STEP_NUM_TASKS"), *proc = given("SLURM_PROCID");

	if (!nodes || !n || streq(n, "1"))
		return false;
	*ret = (struct allocation){.scheduler = "Slurm",
				   .hosts = nodes,
				   .rsh = own_srun(a),
				   .not_first = tasks && !streq(tasks, "1") && proc &&
						!streq(proc, "0")};
	return true;
}

/* A line for each processor of a host. */
static bool is_one_host(struct arena *a, const char *file)
{
	host_list hosts = {0};
	struct err ignored = {0};

	return !hosts_from_arg(file, a, &hosts, &ignored) && hosts.n < 2;
}

static bool pbs(struct arena *a, struct allocation *ret)
{
	const char *file = given("PBS_NODEFILE");

	if (!file || access(file, R_OK) || is_one_host(a, file))
		return false;
	*ret = (struct allocation){.scheduler = "PBS", .hosts = file};
	return true;
}

void allocation_find(struct arena *a, struct allocation *ret)
{
	*ret = (struct allocation){0};
	if (!slurm(a, ret))
		(void)pbs(a, ret);
}

int allocation_srun(char *const *words, int n, struct err *e)
{
	enum { WORDS = 2 };

	if (n != WORDS)
		return err_set(e, ERR_USAGE, "--srun is for our own use");
	(void)setenv("SLURM_OVERLAP", "1", 1); /* --overlap, which is no word before 20.11 */
	(void)execlp("srun", "srun", "-Q", "-N1", "-n1", "--mpi=none", "-w", words[0], "sh", "-c",
		     words[1], (char *)NULL);
	return err_sys(e, "cannot start srun");
}
