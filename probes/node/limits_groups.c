/* What control groups and masks leave of this machine: memory, processors, processes. */
#include "lib/core/units.h"
#include "lib/host/cgroup.h"
#include "lib/host/sysroot.h"
#include "probes/node/limits.h"

#include <sched.h>
#include <sys/resource.h>

#define MIB (1ull << 20)
enum { TASKS_FEW = 1024 };

/* The tightest of the group and those around it; UINT64_MAX: none. */
static uint64_t tightest(struct arena *a, const char *controller, const char *v2_file,
			 const char *v1_file)
{
	uint64_t least = UINT64_MAX, v;
	const char *own, *line;
	char *path;
	bool v2;

	own = cgroup_own(a, controller, &v2);
	if (!own)
		return least;
	path = arena_strdup(a, own);
	for (char *slash = path + strlen(path); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		line = v2 ? sysroot_line(a, "/sys/fs/cgroup%s/%s", path, v2_file)
			  : sysroot_line(a, "/sys/fs/cgroup/%s%s/%s", controller, path, v1_file);
		if (line && !parse_uint(line, &v) && v < least)
			least = v;
	}
	return least;
}

/* "200000 100000" of cpu.max (v2), or two files (v1): processors' worth of time; 0: no limit. */
static double quota_at(struct arena *a, const char *controller, const char *path, bool v2)
{
	const char *line =
		v2 ? sysroot_line(a, "/sys/fs/cgroup%s/cpu.max", path)
		   : sysroot_line(a, "/sys/fs/cgroup/%s%s/cpu.cfs_quota_us", controller, path);
	double quota = 0, period = 0;
	int n = line ? sscanf(line, "%lf %lf", &quota, &period) : 0;

	if (!v2 && n == 1)
		period = (double)sysroot_int(a, 0, "/sys/fs/cgroup/%s%s/cpu.cfs_period_us",
					     controller, path);
	return n >= 1 && quota > 0 && period > 0 ? quota / period : 0;
}

static double cpu_quota(struct arena *a)
{
	static const char *const names[] = {"cpu,cpuacct", "cpuacct,cpu", "cpu"};
	const char *own = NULL, *controller = NULL;
	double least = 0, q;
	bool v2 = true;
	char *path;

	for (size_t i = 0; i < ARRAY_LEN(names) && v2; i++)
		own = cgroup_own(a, controller = names[i], &v2);
	if (!own)
		return 0;
	path = arena_strdup(a, own);
	for (char *slash = path + strlen(path); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		q = quota_at(a, controller, path, v2);
		if (q > 0 && (least <= 0 || q < least))
			least = q;
	}
	return least;
}

static void memory(struct node_look *look)
{
	struct finding *f = limit_finding(look, "limits.memory", "memory");
	uint64_t limit = tightest(look->a, "memory", "memory.max", "memory.limit_in_bytes");
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
	cpu_set_t *set = CPU_ALLOC(CPU_SETSIZE * 8);
	size_t size = CPU_ALLOC_SIZE(CPU_SETSIZE * 8);
	int allowed = 0;
	double quota;

	if (set && !sched_getaffinity(0, size, set))
		allowed = CPU_COUNT_S(size, set);
	CPU_FREE(set);
	if (all <= 0 || allowed <= 0) {
		finding_set(f, ST_SKIP, "how many may be used could not be read");
		return;
	}
	quota = cpu_quota(look->a);
	if (quota > 0 && quota < allowed) {
		finding_value(f, quota, NULL);
		finding_set(f, quota < 2 && all >= 4 ? ST_WARN : ST_PASS,
			    "a control group allows the time of %.4g of %ld%s", quota, all,
			    quota < 2 && all >= 4
				    ? ": ranks and data workers are stopped most of the time"
				    : "");
		if (f->status == ST_WARN) {
			finding_expect(f, "some for each rank");
			finding_fix(f, "docker run --cpus=16 ...   # Kubernetes: "
				       "resources.limits.cpu; Slurm: "
				       "--cpus-per-task");
		}
		return;
	}
	finding_value(f, allowed, NULL);
	finding_set(f, allowed == 1 && all >= 4 ? ST_WARN : ST_PASS, "%d of %ld may be used%s",
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
	uint64_t most = tightest(look->a, "pids", "pids.max", "pids.max");
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
	finding_fix(f,
		    "ulimit -u unlimited   # docker: --pids-limit=-1; systemd: TasksMax=infinity");
}

void limits_groups(struct node_look *look)
{
	memory(look);
	processors(look);
	tasks(look);
}
