/* What control groups and masks leave of this machine: memory, processors, processes. */
#include "lib/core/units.h"
#include "lib/host/cgroup.h"
#include "lib/host/processors.h"
#include "probes/node/limits.h"

#include <sys/resource.h>

#define MIB (1ull << 20)
enum { TASKS_FEW = 1024 };

static void memory(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.memory", "memory");
	uint64_t limit = cgroup_memory().most;
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct unit_buf b, t;

	if (limit >= all) {
		finding_set(f, ST_PASS, "%s, not limited by a control group", format_size(&b, all));
		return;
	}
	finding_set(f, limit < 2048 * MIB ? ST_WARN : ST_PASS, "a control group allows %s of %s",
		    format_size(&b, limit), format_size(&t, all));
	if (f->status == ST_WARN) {
		finding_expect(f, ">= 2 GiB");
		finding_fix(f, "docker run --memory=16g ...   # Slurm: --mem=16G");
	}
}

/* A job that was given one core of 64 loads its data with one core. */
static void processors(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.cpus", "processors");
	long all = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned allowed = processors_allowed();
	double quota = cgroup_processors();
	bool few = quota < 1 || (quota < 2 && all >= 4);

	if (quota < allowed) {
		finding_value(f, quota, NULL);
		finding_set(f, few ? ST_WARN : ST_PASS,
			    "a control group allows the time of %.4g of %ld%s", quota, all,
			    few ? ": ranks and data workers are stopped most of the time" : "");
		if (f->status == ST_WARN) {
			finding_expect(f, "some for each rank");
			finding_fix(f, "docker run --cpus=16 ...   # Kubernetes: "
				       "resources.limits.cpu; Slurm: "
				       "--cpus-per-task");
		}
		return;
	}
	finding_value(f, allowed, NULL);
	finding_set(f, allowed == 1 && all >= 4 ? ST_WARN : ST_PASS, "%u of %ld may be used%s",
		    allowed, all,
		    allowed == 1 && all >= 4 ? ": ranks and data workers share one" : "");
	if (f->status == ST_PASS)
		return;
	finding_expect(f, "some for each rank");
	finding_fix(f, "srun --cpus-per-task=8 ...   # Slurm; else: taskset -p $$");
}

static void tasks(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.tasks", "processes and threads");
	uint64_t group = cgroup_tasks().most, most = group;
	struct rlimit l;

	if (!getrlimit(RLIMIT_NPROC, &l) && l.rlim_cur < most)
		most = l.rlim_cur;
	if (most == UINT64_MAX) {
		finding_set(f, ST_PASS, "are not limited");
		return;
	}
	finding_set(f, most < TASKS_FEW ? ST_WARN : ST_PASS, "may be %llu at once%s",
		    (unsigned long long)most,
		    most < TASKS_FEW ? ": ranks and data workers start more" : "");
	if (f->status == ST_PASS)
		return;
	finding_expect(f, ">= %d", TASKS_FEW);
	if (most == group)
		finding_fix(f, "docker run --pids-limit=-1 ...   # a control group's: systemd: "
			       "TasksMax=infinity; Kubernetes: podPidsLimit");
	else
		finding_fix(f, "ulimit -u unlimited");
}

void limits_groups(struct node_look *look)
{
	memory(look);
	processors(look);
	tasks(look);
}
