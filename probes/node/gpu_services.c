/* The services that NVSwitches and NVLink domains between hosts cannot do without. */
#include "lib/host/sysroot.h"
#include "probes/node/gpu_view.h"

enum { VENDOR_NVIDIA = 0x10de, CLASS_BRIDGE_OTHER = 0x0680, COMM_MAX = 15 };

/* NVSwitches of A100 and H100 boards; later ones hide behind InfiniBand controllers. */
static size_t switches(struct gpu_view *v)
{
	str_list all;
	size_t n = 0;

	if (!v->nvidia)
		return 0;
	sysroot_list(v->a, &all, "/sys/bus/pci/devices");
	for (size_t i = 0; i < all.n; i++) {
		int64_t class = sysroot_int(v->a, 0, "/sys/bus/pci/devices/%s/class", all.v[i]);
		int64_t vendor;

		if (class >> 8 != CLASS_BRIDGE_OTHER)
			continue;
		vendor = sysroot_int(v->a, 0, "/sys/bus/pci/devices/%s/vendor", all.v[i]);
		n += vendor == VENDOR_NVIDIA;
	}
	return n;
}

/* By the name that the kernel keeps: its first 15 letters. */
static bool is_running(struct gpu_view *v, const char *name)
{
	str_list all;

	sysroot_list(v->a, &all, "/proc");
	for (size_t i = 0; i < all.n; i++) {
		const char *comm;

		if (*all.v[i] < '0' || *all.v[i] > '9')
			continue;
		comm = sysroot_line(v->a, "/proc/%s/comm", all.v[i]);
		if (comm && strncmp(comm, name, COMM_MAX) == 0)
			return true;
	}
	return false;
}

static bool all_registered(const struct gpu_view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->nvml.gpus.n; i++)
		n += v->nvml.gpus.v[i].fabric.state == NVML_FABRIC_COMPLETED;
	return n && n == v->nvml.gpus.n;
}

static void fabric_manager(struct gpu_view *v)
{
	size_t n = switches(v);
	struct finding *f;
	bool runs;

	if (!n)
		return;
	runs = is_running(v, "nv-fabricmanager");
	if (!runs && v->confined)
		return; /* its processes are not ours to see; nvlink.fabric says how it is */
	f = gpu_note(v, "gpu.fabricmanager", arena_printf(v->a, "%zu NVSwitches", n));
	if (runs || all_registered(v)) {
		finding_set(f, ST_PASS,
			    runs ? "their fabric manager runs"
				 : "every GPU is registered with their fabric");
		return;
	}
	finding_set(f, ST_FAIL,
		    "the fabric manager, which they need, does not run: CUDA fails with error "
		    "802 (system not yet initialized)");
	finding_expect(f, "nvidia-fabricmanager of the driver's version");
	finding_fix(f, "sudo systemctl enable --now nvidia-fabricmanager");
	finding_fix(
		f,
		"sudo apt-get install nvidia-fabricmanager-%.*s   # when there is no such service",
		(int)strcspn(v->nvml.driver, "."), v->nvml.driver[0] ? v->nvml.driver : "DRIVER");
}

/* In an NVLink domain that spans hosts (GB200 NVL72 and its like) the cluster has a name. */
static const char *domain(const struct gpu_view *v)
{
	for (size_t i = 0; i < v->nvml.gpus.n; i++) {
		const struct nvml_fabric *b = &v->nvml.gpus.v[i].fabric;

		if (b->state == NVML_FABRIC_COMPLETED && b->cluster[strspn(b->cluster, "0")])
			return b->cluster;
	}
	return NULL;
}

static void imex(struct gpu_view *v)
{
	const char *name = domain(v);
	bool runs, channel;
	struct finding *f;

	if (!name)
		return;
	runs = is_running(v, "nvidia-imex");
	channel = sysroot_exists("/dev/nvidia-caps-imex-channels/channel0");
	f = gpu_note(v, "gpu.imex", arena_printf(v->a, "NVLink domain %.8s", name));
	if (!channel) {
		finding_set(f, ST_WARN,
			    "has no IMEX channel here: NCCL cannot use NVLink to other hosts");
		finding_expect(f, "/dev/nvidia-caps-imex-channels/channel0");
		finding_fix(
			f,
			v->confined
				? "docker run --device "
				  "/dev/nvidia-caps-imex-channels/channel0 ...   # Kubernetes: a "
				  "ComputeDomain"
				: "sudo nvidia-modprobe -i 0:1 && sudo systemctl enable --now "
				  "nvidia-imex");
	} else if (!runs && !v->confined) {
		finding_set(f, ST_FAIL,
			    "spans hosts, but nvidia-imex does not run: NCCL's NVLink between "
			    "hosts fails");
		finding_expect(f, "nvidia-imex on every host of the domain");
		finding_fix(f, "sudo systemctl enable --now nvidia-imex   # "
			       "/etc/nvidia-imex/nodes_config.cfg "
			       "lists all hosts");
	} else if (!v->confined && !sysroot_exists("/etc/nvidia-imex/nodes_config.cfg")) {
		finding_set(f, ST_WARN, "spans hosts, but IMEX knows none of them");
		finding_expect(f,
			       "/etc/nvidia-imex/nodes_config.cfg with one address for each host");
		finding_fix(f, "- edit /etc/nvidia-imex/nodes_config.cfg; sudo systemctl restart "
			       "nvidia-imex; "
			       "nvidia-imex-ctl -N");
	} else {
		finding_set(f, ST_PASS, "IMEX %s and there is a channel",
			    runs ? "runs" : "is outside");
	}
}

void gpu_services(struct gpu_view *v)
{
	fabric_manager(v);
	imex(v);
}
