/* A rank of srun, and the shells of an allocation that only look like one. */
#include "lib/cluster/hostlist.h"
#include "lib/cluster/world_env.h"
#include "lib/core/units.h"

/*
 * Steps that Slurm itself makes: a batch script's (which names none before 26.05), an
 * interactive shell's, "extern" and more. Since 26.05 they are written as negative numbers.
 */
#define SLURM_FIRST_OWN_STEP 0xfffffff0u
#define SLURM_BATCH_STEP 0xfffffffbu

static uint32_t step_of(const char *text)
{
	uint64_t n;

	if (parse_uint(text + (*text == '-'), &n) < 0 || n > UINT32_MAX)
		return 0;
	return *text == '-' ? (uint32_t)-n : (uint32_t)n;
}

static bool in_step(const struct env *v)
{
	const char *step = env_peek(v, "SLURM_STEP_ID");

	return step && env_peek(v, "SLURM_PROCID") && step_of(step) < SLURM_FIRST_OWN_STEP;
}

/* The entry of node @node in "2(x3),1"; 0: malformed or too short. */
static int tasks_on(const char *s, int node)
{
	while (node >= 0) {
		char *end;
		unsigned long tasks, times = 1;

		if (*s < '0' || *s > '9')
			return 0;
		tasks = strtoul(s, &end, 10);
		if (end[0] == '(' && end[1] == 'x') {
			times = strtoul(end + 2, &end, 10);
			if (*end++ != ')')
				return 0;
		}
		if (!tasks || tasks > WORLD_MAX || !times || times > WORLD_MAX)
			return 0;
		if ((unsigned long)node < times)
			return *end && *end != ',' ? 0 : (int)tasks;
		node -= (int)times;
		if (*end != ',')
			return 0;
		s = end + 1;
	}
	return 0;
}

static void read_local_size(struct env *v)
{
	static const char name[] = "SLURM_STEP_TASKS_PER_NODE";
	const char *s = v->w->node_rank >= 0 ? env_take(v, name) : NULL;
	int n;

	if (!s)
		return;
	n = tasks_on(s, v->w->node_rank);
	if (!n)
		env_trouble(v, "%s is %s, with no number for node %d: set it right or unset it",
			    name, env_quote(v, s), v->w->node_rank);
	else if (v->w->local_rank >= n || n > v->w->size)
		env_trouble(v, "%s gives node %d %d tasks, but SLURM_LOCALID is %d of %d in all",
			    name, v->w->node_rank, n, v->w->local_rank, v->w->size);
	else
		v->w->local_size = n;
}

/* Rank 0 runs on the first host of the step, under every distribution but an arbitrary one. */
static void first_host(struct env *v)
{
	static const char *const names[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
					    "SLURM_NODELIST"};
	host_list hosts;
	struct err e = {0};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *s = env_peek(v, names[i]);

		if (!s)
			continue;
		env_take(v, names[i]);
		if (hostlist_parse(s, v->a, &hosts, &e) < 0)
			env_trouble(v, "%s cannot be read: %s", names[i], e.msg);
		else
			v->w->master_addr = hosts.v[0].name;
		return;
	}
	env_note(v, "no SLURM_STEP_NODELIST here: set MASTER_ADDR to rank 0's host");
}

bool world_slurm(struct env *v)
{
	struct world_names names = {
		.launcher = LAUNCHER_SRUN,
		.rank = "SLURM_PROCID",
		.size = "SLURM_STEP_NUM_TASKS",
		.local_rank = "SLURM_LOCALID",
		.node_rank = "SLURM_NODEID",
		.nodes = "SLURM_STEP_NUM_NODES",
	};
	const char *job = env_peek(v, "SLURM_JOB_ID");

	if (!in_step(v))
		return false;
	if (!env_peek(v, names.size))
		names.size = "SLURM_NTASKS";
	env_read(v, &names);
	read_local_size(v);
	v->w->run = arena_printf(v->a, "%s.%s", job ? job : "", env_take(v, "SLURM_STEP_ID"));
	env_master(v, "MASTER_ADDR", "MASTER_PORT");
	if (!v->w->master_addr && !v->w->trouble)
		first_host(v);
	if (!v->w->master_port)
		v->w->master_port = env_port_of_run(v);
	return true;
}

void world_slurm_shell(struct env *v)
{
	const char *step = env_peek(v, "SLURM_STEP_ID");

	if (!env_peek(v, "SLURM_PROCID"))
		return;
	if (step && step_of(step) != SLURM_BATCH_STEP)
		env_trouble(v,
			    "this is the interactive shell of a Slurm allocation, not a rank "
			    "(SLURM_STEP_ID is one of Slurm's own): put srun before the command");
	else
		env_trouble(v,
			    "this is the shell of an sbatch script, not a rank (SLURM_PROCID is "
			    "set and SLURM_STEP_ID is %s): srun is missing before the command",
			    step ? "a batch script's" : "not");
}
