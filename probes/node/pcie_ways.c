/* Ways between GPUs, and from GPUs to RDMA cards: access control, IOMMU, peer memory. */
#include "lib/host/pcie.h"
#include "lib/host/sysroot.h"
#include "lib/report/json.h"
#include "probes/node/gpu_view.h"

#include <sys/utsname.h>

static bool is_virtual(struct gpu_view *v)
{
	FILE *in = fopen(sysroot_path(v->a, "/proc/cpuinfo"), "re");
	char line[8192];
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in)) {
		if (!starts_with(line, "flags"))
			continue;
		found = strstr(line, " hypervisor") != NULL;
		break;
	}
	if (in)
		(void)fclose(in);
	return found;
}

static void devices(struct gpu_view *v, str_list *ret)
{
	*ret = (str_list){0};
	for (size_t i = 0; i < v->pci.n; i++)
		if (v->pci.v[i].vendor == GPU_NVIDIA)
			*LIST_ADD(v->a, ret) = v->pci.v[i].pci;
	for (size_t i = 0; i < v->rdma.n; i++)
		if (v->rdma.v[i].pci)
			*LIST_ADD(v->a, ret) = v->rdma.v[i].pci;
}

static bool has(const str_list *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], s))
			return true;
	return false;
}

static void all_bridges(struct gpu_view *v, const str_list *ends, str_list *ret)
{
	*ret = (str_list){0};
	for (size_t i = 0; i < ends->n; i++) {
		str_list above;

		pcie_bridges(v->a, ends->v[i], &above);
		for (size_t k = 0; k < above.n; k++)
			if (!has(ret, above.v[k]))
				*LIST_ADD(v->a, ret) = above.v[k];
	}
}

/* The names of those that redirect, in @ret_names; @ret_unknown: nobody could tell of so many. */
static size_t redirecting(struct gpu_view *v, const str_list *bridges, const char **ret_names,
			  size_t *ret_unknown)
{
	enum { REDIRECTS = PCIE_ACS_REQUESTS | PCIE_ACS_COMPLETIONS | PCIE_ACS_EGRESS };
	struct text t;
	size_t n = 0;

	*ret_unknown = 0;
	text_init(&t, v->a);
	for (size_t i = 0; i < bridges->n; i++) {
		int bits = pcie_acs(v->a, bridges->v[i]);

		*ret_unknown += bits < 0;
		if (bits > 0 && bits & REDIRECTS) {
			text_addf(&t, "%s%s", n ? " " : "", bridges->v[i]);
			n++;
		}
	}
	*ret_names = t.s;
	return n;
}

/* What one device sends to its neighbour goes up to the processor and back down. */
static void access_control(struct gpu_view *v, const str_list *ends)
{
	size_t on, unknown;
	const char *names;
	str_list bridges;
	struct finding *f;

	all_bridges(v, ends, &bridges);
	if (!bridges.n)
		return;
	on = redirecting(v, &bridges, &names, &unknown);
	f = gpu_note(v, "pcie.acs",
		     arena_printf(v->a, "%zu PCIe bridge%s", bridges.n, bridges.n == 1 ? "" : "s"));
	if (v->facts && unknown < bridges.n)
		json_str(v->facts, "acs", on ? "on" : "off");
	if (on && is_virtual(v)) {
		finding_set(f, ST_INFO,
			    "%zu redirect what GPUs send each other (ACS), as virtual machines "
			    "need it",
			    on);
	} else if (on) {
		finding_set(f, ST_WARN,
			    "%zu redirect what GPUs and cards send each other through the "
			    "processor (ACS): slow, and NCCL may hang",
			    on);
		finding_value(f, (double)on, NULL);
		finding_expect(f, "ACS off above GPUs and RDMA cards");
		finding_fix(f,
			    "for b in %s; do sudo setpci -s $b ECAP_ACS+6.w=0000; done   # until "
			    "the next boot; for good: ACS off in the BIOS",
			    names);
	} else if (unknown == bridges.n) {
		finding_set(f, ST_SKIP,
			    "whether they redirect transfers (ACS) can be read by root alone");
	} else {
		finding_set(f, ST_PASS, "let GPUs and cards send each other directly (ACS is off)");
	}
}

static void iommu(struct gpu_view *v, const str_list *ends)
{
	const char *type = NULL, *kind = NULL;
	size_t translated = 0;
	struct utsname u;
	struct finding *f;

	for (size_t i = 0; i < ends->n; i++) {
		kind = pcie_iommu(v->a, ends->v[i]);
		type = type ? type : kind;
		translated += kind && starts_with(kind, "DMA");
	}
	if (v->facts)
		json_str(v->facts, "iommu",
			 translated ? "translates"
			 : type	    ? "passes through"
				    : "off");
	f = gpu_note(v, "pcie.iommu", "IOMMU");
	if (!translated) {
		finding_set(f, ST_PASS,
			    type ? "passes through what GPUs and cards send" : "is off");
		return;
	}
	/* on Arm it is part of the machine, and drivers expect it */
	finding_set(f, !uname(&u) && streq(u.machine, "aarch64") ? ST_INFO : ST_WARN,
		    "translates addresses of %zu of %zu GPUs and cards: transfers between them are "
		    "slow, or fail",
		    translated, ends->n);
	finding_value(f, (double)translated, NULL);
	finding_expect(f, "off, or passing through (iommu=pt)");
	finding_fix(f,
		    "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&iommu=pt /' /etc/default/grub && sudo "
		    "update-grub && "
		    "sudo reboot");
}

/* "5.15.0-1050-aws": DMA-BUF for RDMA came with 5.12. */
static bool has_dmabuf_kernel(struct gpu_view *v)
{
	const char *release = sysroot_line(v->a, "/proc/sys/kernel/osrelease");
	unsigned major, minor;

	return release && sscanf(release, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 12));
}

static bool is_open_driver(struct gpu_view *v)
{
	const char *line = sysroot_line(v->a, "/proc/driver/nvidia/version");

	return line && strstr(line, "Open Kernel Module");
}

/* The module that lets RDMA cards reach the memory of GPUs, or NULL. */
static const char *peer_module(void)
{
	static const char *const modules[] = {"nvidia_peermem", "nv_peer_mem", "efa_nv_peermem"};

	for (size_t i = 0; i < ARRAY_LEN(modules); i++)
		if (sysroot_exists("/sys/module/%s", modules[i]))
			return modules[i];
	return NULL;
}

/* Amazon's own driver says so itself: device/p2p names who provides it, gdr was its older form. */
static const char *efa_peer(struct gpu_view *v)
{
	for (size_t i = 0; i < v->rdma.n; i++) {
		const char *name = v->rdma.v[i].name, *p2p;

		p2p = sysroot_line(v->a, "/sys/class/infiniband/%s/device/p2p", name);
		if (p2p && strcasestr(p2p, "nv"))
			return "the efa driver";
		if (sysroot_int(v->a, 0, "/sys/class/infiniband/%s/gdr", name) == 1)
			return "the efa driver";
	}
	return NULL;
}

static void peer_memory(struct gpu_view *v)
{
	const char *module = peer_module() ?: efa_peer(v);
	bool dmabuf = has_dmabuf_kernel(v) && is_open_driver(v);
	struct finding *f = gpu_note(v, "pcie.peermem", "GPUDirect RDMA");

	if (v->facts)
		json_str(v->facts, "gpudirect", module ? module : dmabuf ? "DMA-BUF" : "none");
	if (module || dmabuf) {
		finding_set(f, ST_PASS, "RDMA cards reach the memory of GPUs: by %s",
			    module ? module : "DMA-BUF (open kernel modules)");
		return;
	}
	if (!sysroot_exists("/proc/driver/nvidia/version")) {
		finding_set(f, ST_SKIP,
			    "whether RDMA cards reach the memory of GPUs cannot be seen: "
			    "/proc/driver/nvidia is not here");
		return;
	}
	finding_set(f, ST_WARN,
		    "RDMA cards cannot reach the memory of GPUs: NCCL copies everything "
		    "through the processor's memory");
	finding_expect(
		f,
		"nvidia-peermem, or NVIDIA's open kernel modules on Linux 5.12 or later (DMA-BUF)");
	finding_fix(f, "sudo modprobe nvidia-peermem   # or install NVIDIA's open kernel modules");
}

void pcie_ways(struct gpu_view *v)
{
	bool gpus = v->nvidia > 0;
	str_list ends;

	devices(v, &ends);
	if (!gpus || ends.n < 2)
		return;
	access_control(v, &ends);
	iommu(v, &ends);
	if (v->rdma.n)
		peer_memory(v);
}
