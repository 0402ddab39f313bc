/* The kernel moves pages to the threads that use them; to see which do, it takes them away first.
 */
#include "lib/host/gpu.h"
#include "lib/host/sysroot.h"
#include "probes/node/limits.h"

/* Nodes with processors and those with memory alone, as GPUs' own memory is on GH200. */
static size_t count_nodes(struct arena *a)
{
	str_list names;
	size_t n = 0;

	sysroot_list(a, &names, "/sys/devices/system/node");
	for (size_t i = 0; i < names.n; i++) {
		const char *cpus =
			starts_with(names.v[i], "node")
				? sysroot_line(a, "/sys/devices/system/node/%s/cpulist", names.v[i])
				: NULL;

		n += cpus && *cpus;
	}
	return n;
}

const char *limits_numa_balancing(struct arena *a)
{
	return count_nodes(a) < 2 ? NULL : sysroot_line(a, "/proc/sys/kernel/numa_balancing");
}

void limits_numa(struct node_look *look)
{
	const char *mode = limits_numa_balancing(look->a);
	struct finding *f;
	gpu_list gpus;

	gpu_read(look->a, &gpus);
	if (!mode || !gpus.n)
		return;
	f = limit_finding(look, "limits.numa_balancing", "NUMA balancing");
	if (streq(mode, "0")) {
		finding_set(f, ST_PASS, "is off");
		return;
	}
	/* deepseek-ai/DeepEP#624: task_numa_work() of Linux 5.15 */
	finding_set(f, ST_INFO,
		    "is on: the kernel stops the threads that feed GPUs to look where their memory "
		    "is, for 16 to 31 ms at worst");
	finding_expect(f, "off where ranks are bound to their GPU's processors");
	finding_fix(f, "sudo sysctl -w kernel.numa_balancing=0   # for good: in a file of "
		       "/etc/sysctl.d");
}
