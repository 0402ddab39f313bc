#ifndef LIB_HOST_RDMA_H
#define LIB_HOST_RDMA_H
/* RDMA devices and their ports as /sys/class/infiniband shows them. Reads only. */
#include "lib/host/inventory.h"

enum rdma_link { RDMA_INFINIBAND, RDMA_ROCE, RDMA_EFA, RDMA_IWARP, RDMA_UNKNOWN };
const char *rdma_link_name(enum rdma_link l); /* "InfiniBand", "RoCE", "EFA", "iWARP", "unknown" */

struct rdma_gid {
	unsigned index;
	const char *gid;  /* as the kernel prints it */
	const char *type; /* "IB/RoCE v1", "RoCE v2", or NULL */
	const char *ndev; /* interface it belongs to, or NULL */
	bool ipv4_mapped;
};
struct rdma_port {
	unsigned number;
	enum rdma_link link;
	const char *state;	/* "ACTIVE", "DOWN", "INIT" ... ; NULL unknown */
	const char *phys_state; /* "LinkUp", "Polling", "Disabled" ...; NULL unknown */
	double rate_gbps;	/* NAN unknown */
	const char *iface;	/* network interface, or NULL (EFA-only has none) */
	bool active;
	LIST(struct rdma_gid) gids; /* all-zero entries left out */
	bool gids_read;
};
struct rdma_device {
	const char *name; /* "mlx5_0" */
	const char *driver, *pci;
	int numa; /* -1 unknown */
	LIST(struct rdma_port) ports;
};
typedef LIST(struct rdma_device) rdma_list;

/* @i, whose device is known, has an RDMA port that is active. */
bool rdma_has_active_port(struct arena *a, const struct iface *i);
/* Never fails: no /sys/class/infiniband is an empty list. */
void rdma_read(struct arena *a, rdma_list *ret);

#endif
