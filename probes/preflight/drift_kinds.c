/* In which respects hosts are compared, in the order in which they are told. */
#include "lib/core/units.h"
#include "probes/preflight/drift_values.h"

#include <math.h>

/* More open files than fs.nr_open, as "unlimited" would be, keep people from logging in. */
static const char *typed_files(struct arena *a, const struct drift_value *v)
{
	(void)a;
	return streq(v->text, "unlimited") ? "1048576" : v->text;
}

/* "700 W", in watts */
static const char *typed_watts(struct arena *a, const struct drift_value *v)
{
	return arena_printf(a, "%.*s", (int)strcspn(v->text, " "), v->text);
}

/* Slurm's G are GiB; it takes whole ones, and none that the node does not have. */
static const char *typed_room(struct arena *a, const struct drift_value *v)
{
	const double mib = 1 << 20, gib = 1 << 30;

	return v->number < gib ? arena_printf(a, "%.0fM", floor(v->number / mib))
			       : arena_printf(a, "%.0fG", floor(v->number / gib));
}

/* limits.conf takes kB where the limit is in bytes. */
static const char *typed_kib(struct arena *a, const struct drift_value *v)
{
	uint64_t bytes;

	if (parse_uint(v->text, &bytes))
		return v->text;
	return arena_printf(a, "%llu", (unsigned long long)(bytes >> 10));
}

/* One of NCCL's packages for each CUDA, as torch's own is called. */
static const char *typed_nccl(struct arena *a, const struct drift_value *v)
{
	const char *cuda = cJSON_GetStringValue(drift_fact(v->from, "torch_cuda"));

	return arena_printf(a, "nvidia-nccl-cu%d==%s", starts_with(cuda ?: "", "13.") ? 13 : 12,
			    v->text);
}

#define ROW(name, what, kind, status, line, ...)                                                   \
	{                                                                                          \
		.key = name, .subject = what, .type = kind, .st = status, .fix = line,             \
		##__VA_ARGS__                                                                      \
	}

const struct drift_kind drift_kinds[] = {
	ROW("gpus", "number of GPUs", COUNT, ST_FAIL,
	    "dmesg | grep -i -e xid -e 'fallen off the bus'   # then reboot it; the others have %s",
	    .above = "lspci | grep -i nvidia   # the others have %s: is it a machine like them?",
	    .none = "lspci | grep -i nvidia   # none in it, as in a head node? leave it out of "
		    "--hosts"),
	ROW("gpu", "kind of GPU", TEXT, ST_WARN,
	    "lspci -nn | grep -i nvidia   # the others have %s"),
	ROW("driver", "NVIDIA driver", TEXT, ST_WARN,
	    "sudo apt-get install --only-upgrade 'nvidia-driver*'   # to %s, then reboot",
	    .none = "sudo modprobe nvidia   # install NVIDIA's driver first if that fails; the "
		    "others have %s"),
	ROW("nccl", "NCCL", TEXT, ST_WARN, "pip install %s   # or its package",
	    .none = DRIFT_AS_USUAL, .typed = typed_nccl),
	ROW("torch", "PyTorch", TEXT, ST_WARN, "pip install 'torch==%s'", .none = DRIFT_AS_USUAL),
	ROW("torch_cuda", "PyTorch's CUDA", TEXT, ST_WARN, "pip install torch   # for CUDA %s"),
	ROW("cuda", "the driver's CUDA", TEXT, ST_WARN,
	    "sudo apt-get install --only-upgrade 'nvidia-driver*'   # the others serve %s; then "
	    "reboot"),
	ROW("gpu_name", "model of GPU", TEXT, ST_WARN, "nvidia-smi -L   # the others have %s"),
	ROW("vbios", "VBIOS of the GPUs", TEXT, ST_INFO,
	    "nvidia-smi -q | grep -i vbios   # the others: %s"),
	ROW("nvlinks", "NVLinks up", COUNT, ST_FAIL, "nvidia-smi nvlink -s   # the others have %s"),
	ROW("nvlink_domain", "NVLink domain", TEXT, ST_INFO,
	    "nvidia-smi -q | grep -A 9 Fabric   # the others are in %s"),
	ROW("ecc", "ECC of the GPUs", TEXT, ST_WARN,
	    "sudo nvidia-smi -e 1 && sudo reboot   # elsewhere: %s", .worse = "off"),
	ROW("mig", "MIG of the GPUs", TEXT, ST_WARN, "sudo nvidia-smi -mig 0   # elsewhere: %s",
	    .worse = "on"),
	ROW("persistence", "persistence of the GPUs", TEXT, ST_INFO,
	    "sudo nvidia-smi -pm 1   # elsewhere: %s", .worse = "off"),
	ROW("power_limit", "power limit of the GPUs", TEXT, ST_WARN,
	    "sudo nvidia-smi -pl %s   # in watts", .typed = typed_watts),
	ROW("matmul_tflops", "slowest GPU's TFLOP/s", RATE, ST_WARN,
	    "nvidia-smi -q -d PERFORMANCE,CLOCK,POWER   # the others reach %s"),
	ROW("memory_gbps", "slowest GPU memory's GB/s", RATE, ST_WARN,
	    "nvidia-smi -q -d ECC,ROW_REMAPPER,CLOCK   # the others reach %s"),
	ROW("to_gpu_gbps", "slowest copy to a GPU, GB/s", RATE, ST_WARN,
	    "nvidia-smi -q | grep -A 8 'GPU Link Info'   # the others reach %s"),
	ROW("from_gpu_gbps", "slowest copy from a GPU, GB/s", RATE, ST_WARN,
	    "nvidia-smi -q | grep -A 8 'GPU Link Info'   # the others reach %s"),
	ROW("acs", "PCIe access control (ACS)", TEXT, ST_WARN,
	    "lspci -vvv | grep ACSCtl   # elsewhere: %s", .worse = "on"),
	ROW("iommu", "IOMMU", TEXT, ST_WARN, "cat /proc/cmdline   # elsewhere: %s",
	    .worse = "translates"),
	ROW("gpudirect", "GPUDirect RDMA", TEXT, ST_WARN,
	    "lsmod | grep peermem || sudo modprobe nvidia-peermem   # elsewhere: %s",
	    .worse = DRIFT_NONE),
	ROW("rdma_ports", "active RDMA ports", COUNT, ST_FAIL,
	    "rdma link; ibstat   # the others have %s: is a cable loose, a switch port off?",
	    .above = "rdma link; ibstat   # the others have %s: is one of theirs down?",
	    .none = "lspci | grep -i -e infiniband -e mellanox; sudo modprobe mlx5_ib   # the "
		    "others have %s",
	    .more = "rdma_down"),
	ROW("rdma_layer", "link layer of RDMA", TEXT, ST_FAIL,
	    "grep . /sys/class/infiniband/*/ports/*/link_layer   # the others have %s; mlxconfig "
	    "sets LINK_TYPE_P1"),
	ROW("rdma_rate", "slowest RDMA port, Gb/s", RATE, ST_FAIL,
	    "rdma link; ibstat   # the others reach %s: reseat or change that cable",
	    .more = "rdma_slow"),
	ROW("rdma_fw", "firmware of the RDMA cards", TEXT, ST_WARN,
	    "sudo mlxfwmanager --query   # the others: %s"),
	ROW("efa", "EFA adapters", COUNT, ST_WARN,
	    "ls /sys/class/infiniband   # the others have %s; launch it as they were",
	    .above = "ls /sys/class/infiniband   # the others have %s; launch them as this one was",
	    .none = DRIFT_AS_USUAL),
	ROW("efa_installer", "EFA installer", TEXT, ST_WARN,
	    "sudo ./efa_installer.sh -y   # of version %s"),
	ROW("libfabric", "libfabric", TEXT, ST_WARN,
	    "sudo ./efa_installer.sh -y   # the others have %s"),
	ROW("ofi_nccl", "aws-ofi-nccl", TEXT, ST_WARN,
	    "sudo ./efa_installer.sh -y   # the others have %s"),
	ROW("windsock", "windsock", TEXT, ST_WARN, NULL),
	ROW("cpus", "processors", COUNT, ST_WARN, "lscpu -e   # the others have %s"),
	ROW("cpus_usable", "processors that may be used", COUNT, ST_WARN,
	    "srun --cpus-per-task=%s ...   # Kubernetes: resources.limits.cpu; docker: --cpus; "
	    "else: "
	    "taskset -p $$",
	    .more_is_better = true, .part_of = "cpus"),
	ROW("memory", "memory", SIZE, ST_WARN, "sudo dmidecode -t memory   # the others have %s"),
	ROW("memory_usable", "memory that may be used", ROOM, ST_WARN,
	    "srun --mem=%s ...   # Kubernetes: resources.limits.memory; docker: --memory",
	    .typed = typed_room, .part_of = "memory"),
	/* a tmpfs that nobody gave a size has half of the memory */
	ROW("shm", "/dev/shm", ROOM, ST_WARN,
	    "sudo mount -o remount,size=50% /dev/shm   # docker: --shm-size; Kubernetes: an "
	    "emptyDir of medium Memory; the others have %s",
	    .part_of = "memory", .usual_part = 0.5, .enough = 0.45),
	ROW("nofile", "open files", LIMIT, ST_WARN,
	    "for u in '*' root; do echo \"$u - nofile %s\"; done | sudo tee "
	    "/etc/security/limits.d/90-nofile.conf   # then log in "
	    "again; LimitNOFILE= for slurmd",
	    .typed = typed_files, .more_is_better = true),
	ROW("memlock", "locked memory, in bytes", LIMIT, ST_WARN,
	    "for u in '*' root; do echo \"$u - memlock %s\"; done | sudo tee "
	    "/etc/security/limits.d/90-memlock.conf   # in kB here; "
	    "then log in again; LimitMEMLOCK= for slurmd",
	    .typed = typed_kib, .more_is_better = true),
	ROW("congestion", "congestion control", TEXT, ST_WARN,
	    "sudo sysctl -w net.ipv4.tcp_congestion_control=%s", .worse = "bbr"),
	ROW("tcp_rmem", "TCP's receive buffers", TEXT, ST_WARN,
	    "sudo sysctl -w net.ipv4.tcp_rmem='%s'"),
	ROW("tcp_wmem", "TCP's send buffers", TEXT, ST_WARN,
	    "sudo sysctl -w net.ipv4.tcp_wmem='%s'"),
	ROW("governor", "clock governor", TEXT, ST_WARN, "sudo cpupower frequency-set -g %s"),
	ROW("thp", "transparent huge pages", TEXT, ST_INFO,
	    "echo %s | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
	ROW("clocksource", "clock source", TEXT, ST_INFO,
	    "echo %s | sudo tee "
	    "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
	ROW("numa_balancing", "NUMA balancing", TEXT, ST_WARN,
	    "sudo sysctl -w kernel.numa_balancing=%s", .worse = "1"),
	ROW("kernel", "kernel", TEXT, ST_INFO, "uname -r   # the others have %s"),
};
const size_t drift_kinds_n = ARRAY_LEN(drift_kinds);
