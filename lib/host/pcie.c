#include "lib/host/pcie.h"

#include "lib/host/gpu.h"
#include "lib/host/sysroot.h"

#include <fcntl.h>
#include <math.h>

#define PCI "/sys/bus/pci/devices/%s"

enum { LANES_MAX = 32, NAME_MIN = 12 };
/* PCI Express Base Specification: extended capabilities begin at 0x100. */
enum { CONFIG = 4096, EXTENDED = 0x100, ACS_ID = 0x0d, ACS_CONTROL = 6, HOPS_MAX = 480 };

/* "16.0 GT/s PCIe", "8 GT/s", "Unknown" */
static double speed(const char *line)
{
	char *end = NULL;
	double v = line ? strtod(line, &end) : NAN;

	return line && end != line && strstr(end, "GT/s") && v > 0 ? v : NAN;
}

/* 0 and 255 are what the kernel says when there is no link. */
static int width(int64_t v) { return v > 0 && v <= LANES_MAX ? (int)v : 0; }

void pcie_link(struct arena *a, const char *pci, struct pcie_link *ret)
{
	ret->gts = speed(sysroot_line(a, PCI "/current_link_speed", pci));
	ret->gts_max = speed(sysroot_line(a, PCI "/max_link_speed", pci));
	ret->width = width(sysroot_int(a, 0, PCI "/current_link_width", pci));
	ret->width_max = width(sysroot_int(a, 0, PCI "/max_link_width", pci));
}

void pcie_bridges(struct arena *a, const char *pci, str_list *ret)
{
	const char *path = pci_path(a, pci);
	char *at = path ? arena_strdup(a, path) : NULL, *slash = at ? strrchr(at, '/') : NULL;

	*ret = (str_list){0};
	while (slash) {
		*slash = '\0';
		slash = strrchr(at, '/');
		if (slash && strlen(slash + 1) >= NAME_MIN) /* not the host bridge's "pci0000:00" */
			*LIST_ADD(a, ret) = arena_strdup(a, slash + 1);
	}
}

static unsigned word(const unsigned char *config, size_t at)
{
	return (unsigned)config[at] | (unsigned)config[at + 1] << 8;
}

static int find_acs(const unsigned char *config, size_t n)
{
	size_t at = EXTENDED;

	for (int hops = 0; hops < HOPS_MAX && at >= EXTENDED && at + 8 <= n; hops++) {
		if (word(config, at) == ACS_ID)
			return (int)(word(config, at + ACS_CONTROL) &
				     (PCIE_ACS_VALID | PCIE_ACS_REQUESTS | PCIE_ACS_COMPLETIONS |
				      PCIE_ACS_EGRESS));
		at = word(config, at + 2) >> 4; /* version below, the next one's place above */
	}
	return PCIE_ACS_NONE;
}

int pcie_acs(struct arena *a, const char *pci)
{
	AUTO_CLOSE int fd = open(sysroot_path(a, arena_printf(a, PCI "/config", pci)),
				 O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char *config = arena_alloc(a, CONFIG);
	ssize_t n = fd < 0 ? -1 : read(fd, config, CONFIG);

	/* a bridge without the extended space (256 bytes) has no access control */
	return n < EXTENDED ? -1 : find_acs(config, (size_t)n);
}

const char *pcie_iommu(struct arena *a, const char *pci)
{
	return sysroot_line(a, PCI "/iommu_group/type", pci);
}
