/* What this host is, for the comparison with others: data.facts. */
#include "probes/node/facts.h"

#include "lib/core/version.h"
#include "lib/host/cgroup.h"
#include "lib/host/gpu.h"
#include "lib/host/hostname.h"
#include "lib/host/mounts.h"
#include "lib/host/processors.h"
#include "lib/host/python.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/node/limits.h"
#include "probes/node/same.h"
#include "probes/rules/nccl.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

static void software(struct arena *a, cJSON *o)
{
	unsigned nccl = nccl_installed();
	struct utsname u;

	json_str(o, "windsock", WINDSOCK_VERSION);
	if (!uname(&u))
		json_str(o, "kernel", u.release);
	json_str(o, "driver", sysroot_line(a, "/sys/module/nvidia/version"));
	if (nccl)
		json_str(o, "nccl", nccl_version_text(a, nccl));
}

const char *facts_torch(struct arena *a) { return python_version_of(a, "torch"); }

static void limit(cJSON *o, const char *key, int resource)
{
	struct rlimit l;
	char text[32];

	if (getrlimit(resource, &l))
		return;
	if (l.rlim_cur == RLIM_INFINITY)
		(void)snprintf(text, sizeof(text), "unlimited");
	else
		(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)l.rlim_cur);
	json_str(o, key, text);
}

/* "always [madvise] never" -> "madvise" */
static const char *chosen(struct arena *a, const char *line)
{
	const char *at = line ? strchr(line, '[') : NULL;

	return at ? arena_strndup(a, at + 1, strcspn(at + 1, "]")) : NULL;
}

/* "4096\t131072\t6291456" as people type it */
static const char *spaced(struct arena *a, const char *line)
{
	char *copy = line ? arena_strdup(a, line) : NULL;

	for (char *tab = copy; tab && (tab = strchr(tab, '\t'));)
		*tab = ' ';
	return copy;
}

static void kernel(struct arena *a, cJSON *o)
{
	json_str(o, "governor",
		 sysroot_line(a, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
	json_str(o, "thp",
		 chosen(a, sysroot_line(a, "/sys/kernel/mm/transparent_hugepage/enabled")));
	json_str(o, "congestion", sysroot_line(a, "/proc/sys/net/ipv4/tcp_congestion_control"));
	json_str(o, "tcp_rmem", spaced(a, sysroot_line(a, "/proc/sys/net/ipv4/tcp_rmem")));
	json_str(o, "tcp_wmem", spaced(a, sysroot_line(a, "/proc/sys/net/ipv4/tcp_wmem")));
	json_str(o, "numa_balancing", limits_numa_balancing(a));
	json_str(o, "clocksource",
		 sysroot_line(a,
			      "/sys/devices/system/clocksource/clocksource0/current_clocksource"));
	limit(o, "nofile", RLIMIT_NOFILE);
	limit(o, "memlock", RLIMIT_MEMLOCK);
}

static void hardware(struct arena *a, cJSON *o)
{
	double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	double most = (double)cgroup_memory().most;
	struct statvfs s;
	gpu_list gpus;

	gpu_read(a, &gpus);
	gpu_keep_for_jobs(&gpus);
	json_num(o, "gpus", (double)gpus.n);
	if (gpus.n)
		json_str(o, "gpu", arena_printf(a, "%04x", gpus.v[0].device_id));
	json_num(o, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
	json_num(o, "cpus_usable", processors_usable());
	json_num(o, "memory", memory);
	json_num(o, "memory_usable", most < memory ? most : memory);
	if (!mount_room("/dev/shm", &s))
		json_num(o, "shm", (double)s.f_blocks * (double)s.f_frsize);
}

double facts_clock(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)(t.tv_nsec / 1000000) / 1000;
}

/* Every address that the name leads to here; none: it is not known. */
static void master(struct arena *a, const char *name, cJSON *into)
{
	cJSON *list = json_array(into, "master");
	struct name_answer got;
	struct addr_text t;

	name_resolve(name, 0, a, &got);
	for (size_t i = 0; i < got.addrs.n; i++)
		json_push_str(list, addr_print(&got.addrs.v[i], &t));
}

/* Of each path a digest, and of its first files: "CONTENTS NAME". */
static void digests(struct arena *a, const str_list *paths, uint64_t until_ns, cJSON *into)
{
	cJSON *whole = json_object(into, "same"), *files = json_object(into, "same_files");

	for (size_t i = 0; i < paths->n; i++) {
		same_list list;
		cJSON *each;

		json_str(whole, paths->v[i], same_digest(paths->v[i], until_ns, a, &list));
		each = json_array(files, paths->v[i]);
		for (size_t k = 0; k < list.n; k++)
			json_push_str(each,
				      arena_printf(a, "%s %s", list.v[k].contents, list.v[k].name));
	}
}

void facts_gather(struct arena *a, const str_list *same, uint64_t until_ns, const char *name,
		  cJSON *into)
{
	software(a, into);
	json_str(into, "torch", facts_torch(a));
	kernel(a, into);
	hardware(a, into);
	facts_rdma(a, into);
	if (same->n)
		digests(a, same, until_ns, into);
	if (name)
		master(a, name, into);
	json_num(into, "clock", facts_clock());
}
