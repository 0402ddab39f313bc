#ifndef LIB_HOST_GPU_H
#define LIB_HOST_GPU_H
/*
 * GPUs as the PCI tree shows them: no driver, no CUDA, no NVML needed, so a
 * card whose driver is missing is still seen, and an AMD card is said to be
 * one. Distance is what decides which NIC serves which GPU.
 */
#include "lib/host/inventory.h"

#include <ctype.h>

enum gpu_vendor { GPU_NVIDIA, GPU_AMD, GPU_INTEL };

struct gpu {
	const char *pci; /* "0000:10:1c.0" */
	enum gpu_vendor vendor;
	unsigned device_id;
	const char *driver; /* "nvidia", "nouveau", "vfio-pci", or NULL: none bound */
	int numa;	    /* -1 unknown */
	bool vga;	    /* a screen may be at it, as at a processor's own graphics */
};
typedef LIST(struct gpu) gpu_list;

void gpu_read(struct arena *a, gpu_list *ret); /* in PCI order */
/*
 * Leaves those that a job would use: NVIDIA's where there is one, and of AMD's those without a
 * screen where there are such, since a processor's own graphics are no GPU more.
 */
void gpu_keep_for_jobs(gpu_list *l);

/*
 * Of CUDA_VISIBLE_DEVICES (NULL: not set): Slurm and people hide GPUs with "", "-1" or a word, and
 * mean it; numbers and names are meant to be used.
 */
static inline bool gpu_are_hidden(const char *visible)
{
	return visible && !isdigit((unsigned char)*visible) && !starts_with(visible, "GPU-") &&
	       !starts_with(visible, "MIG-");
}

/* From the host bridge down to the device: "pci0000:00/0000:00:01.0/0000:01:00.0", or NULL. */
const char *pci_path(struct arena *a, const char *pci);

/* nvidia-smi topo's words: PIX one switch, PXB several, PHB same host bridge,
 * NODE same NUMA node, SYS across. */
enum pci_distance { PCI_SAME, PCI_PIX, PCI_PXB, PCI_PHB, PCI_NODE, PCI_SYS, PCI_UNKNOWN };
const char *pci_distance_name(enum pci_distance d);
enum pci_distance pci_distance(struct arena *a, const char *pci1, const char *pci2);

#endif
