#ifndef LIB_HOST_PCIE_H
#define LIB_HOST_PCIE_H
/*
 * How a PCI device is attached: its link, the bridges above it, and what they
 * and the IOMMU do to transfers between devices. From sysfs; of the
 * configuration space non-root users see 64 bytes only, and then the access
 * control is unknown.
 */
#include "lib/core/arena.h"

struct pcie_link {
	double gts, gts_max;  /* GT/s of a lane; NAN unknown */
	int width, width_max; /* lanes; 0 unknown */
};
/* As the device sees it. */
void pcie_link(struct arena *a, const char *pci, struct pcie_link *ret);

/* The bridges above, the nearest first. None: it hangs on a virtual bus. */
void pcie_bridges(struct arena *a, const char *pci, str_list *ret);

/*
 * Access control of a bridge (ACS): bits that send transfers between its
 * devices up to the processor and back. PCIE_ACS_NONE: it has none, or they
 * are off; -1: not readable here.
 */
enum {
	PCIE_ACS_NONE = 0,
	PCIE_ACS_VALID = 0x1,
	PCIE_ACS_REQUESTS = 0x4,
	PCIE_ACS_COMPLETIONS = 0x8,
	PCIE_ACS_EGRESS = 0x20,
};
int pcie_acs(struct arena *a, const char *pci);

/* "DMA", "DMA-FQ": addresses are translated; "identity": passed through; NULL: no IOMMU. */
const char *pcie_iommu(struct arena *a, const char *pci);

#endif
