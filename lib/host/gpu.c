#include "lib/host/gpu.h"
#include "lib/host/sysroot.h"

#define PCI "/sys/bus/pci/devices/%s"

enum { VENDOR_NVIDIA = 0x10de, VENDOR_AMD = 0x1002, VENDOR_INTEL = 0x8086 };
enum { CLASS_VGA = 0x0300, CLASS_3D = 0x0302, CLASS_DISPLAY = 0x0380, CLASS_ACCELERATOR = 0x1200 };

/* Intel: data-centre cards have no VGA part; 00:02.0 is a processor's own graphics. */
static bool is_gpu(const char *pci, int64_t vendor, int64_t class, enum gpu_vendor *ret)
{
	bool vga = class == CLASS_VGA, compute = class == CLASS_3D || class == CLASS_ACCELERATOR;

	switch (vendor) {
	case VENDOR_NVIDIA:
		*ret = GPU_NVIDIA;
		return vga || class == CLASS_3D;
	case VENDOR_AMD:
		*ret = GPU_AMD;
		return vga || compute || class == CLASS_DISPLAY;
	case VENDOR_INTEL:
		*ret = GPU_INTEL;
		return (class == CLASS_3D || class == CLASS_DISPLAY) && !streq(pci, "0000:00:02.0");
	}
	return false;
}

static int by_address(const void *x, const void *y)
{
	return strcmp(((const struct gpu *)x)->pci, ((const struct gpu *)y)->pci);
}

void gpu_read(struct arena *a, gpu_list *ret)
{
	str_list all;

	*ret = (gpu_list){0};
	sysroot_list(a, &all, "/sys/bus/pci/devices");
	for (size_t i = 0; i < all.n; i++) {
		const char *pci = all.v[i];
		int64_t class = sysroot_int(a, 0, PCI "/class", pci) >> 8;
		enum gpu_vendor vendor;
		struct gpu *g;

		if (class >> 8 != 0x03 && class != CLASS_ACCELERATOR)
			continue;
		if (!is_gpu(pci, sysroot_int(a, 0, PCI "/vendor", pci), class, &vendor) ||
		    sysroot_exists(PCI "/physfn", pci))
			continue; /* a part of one (SR-IOV) is for a virtual machine */
		g = LIST_ADD(a, ret);
		g->pci = pci;
		g->vendor = vendor;
		g->vga = class == CLASS_VGA;
		g->device_id = (unsigned)sysroot_int(a, 0, PCI "/device", pci);
		g->driver = sysroot_link_name(a, PCI "/driver", pci);
		g->numa = (int)sysroot_int(a, -1, PCI "/numa_node", pci);
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_address);
}

static bool has_any(const gpu_list *l, enum gpu_vendor vendor, bool vga_too)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].vendor == vendor && (vga_too || !l->v[i].vga))
			return true;
	return false;
}

void gpu_keep_for_jobs(gpu_list *l)
{
	bool nvidia = has_any(l, GPU_NVIDIA, true), amd = has_any(l, GPU_AMD, false);
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct gpu *g = &l->v[i];

		if (nvidia ? g->vendor == GPU_NVIDIA : !(amd && g->vendor == GPU_AMD && g->vga))
			l->v[n++] = *g;
	}
	l->n = n;
}

const char *pci_distance_name(enum pci_distance d)
{
	static const char *const names[] = {
		[PCI_SAME] = "SAME",	   [PCI_PIX] = "PIX",	[PCI_PXB] = "PXB",
		[PCI_PHB] = "PHB",	   [PCI_NODE] = "NODE", [PCI_SYS] = "SYS",
		[PCI_UNKNOWN] = "unknown",
	};

	return names[d];
}

const char *pci_path(struct arena *a, const char *pci)
{
	const char *at = sysroot_link(a, PCI, pci);

	/* The bridge is not always first: ARM has `platform/40000000.pcie/pci0000:00` */
	while (at && (at = strstr(at, "/pci"))) {
		size_t hex = strspn(at += 4, "0123456789abcdef");

		if (hex && at[hex] == ':')
			return at;
	}
	return NULL;
}

static size_t count_parts(const char *path)
{
	size_t n = 1;

	while ((path = strchr(path, '/'))) {
		path++;
		n++;
	}
	return n;
}

/* How many whole parts at the beginning are the same. */
static size_t common_parts(const char *x, const char *y)
{
	size_t n = 0;

	while (*x && *x == *y) {
		n += *x == '/';
		x++;
		y++;
	}
	return n + ((!*x || *x == '/') && (!*y || *y == '/'));
}

static enum pci_distance across(struct arena *a, const char *pci1, const char *pci2)
{
	int64_t n1 = sysroot_int(a, -1, PCI "/numa_node", pci1);
	int64_t n2 = sysroot_int(a, -1, PCI "/numa_node", pci2);

	if (n1 < 0 || n2 < 0)
		return PCI_UNKNOWN;
	return n1 == n2 ? PCI_NODE : PCI_SYS;
}

enum pci_distance pci_distance(struct arena *a, const char *pci1, const char *pci2)
{
	const char *x = pci1 ? pci_path(a, pci1) : NULL, *y = pci2 ? pci_path(a, pci2) : NULL;
	size_t common;

	if (!x || !y)
		return PCI_UNKNOWN;
	if (streq(x, y))
		return PCI_SAME;
	common = common_parts(x, y);
	if (common == 0)
		return across(a, pci1, pci2);
	if (common == 1) /* only the host bridge */
		return PCI_PHB;
	/* Below one switch a device sits behind at most one of its ports. */
	return count_parts(x) - common <= 2 && count_parts(y) - common <= 2 ? PCI_PIX : PCI_PXB;
}
