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
	const char *firmware; /* "28.39.1002"; NULL unknown */
	int64_t model;	      /* PCI vendor and device, 0x15b31021; -1 unknown */
	const char *board;    /* "MT_0000000838": of one model there are several; NULL unknown */
	bool is_part;	      /* a virtual function of a card whose own device is here, too */
	int numa;	      /* -1 unknown */
	LIST(struct rdma_port) ports;
};
typedef LIST(struct rdma_device) rdma_list;

/* Cards that may be compared. */
bool rdma_is_alike(const struct rdma_device *x, const struct rdma_device *y);
/*
 * The rate that more than half of the active ports of cards like @d and of @p's link layer have, of
 * three or more; NAN: there is none such.
 */
double rdma_usual_gbps(const rdma_list *all, const struct rdma_device *d,
		       const struct rdma_port *p);
/* @i, whose device is known, has an RDMA port that is active. */
bool rdma_has_active_port(struct arena *a, const struct iface *i);
/* Never fails: no /sys/class/infiniband is an empty list. */
void rdma_read(struct arena *a, rdma_list *ret);
/*
 * A program here may use one of them: /sys shows the host's in a container, too, and what can be
 * opened in /dev/infiniband decides.
 */
bool rdma_is_usable(struct arena *a);

#endif
