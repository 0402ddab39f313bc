#ifndef PROBES_NODE_EFA_H
#define PROBES_NODE_EFA_H
/* The parts of what is looked at where Amazon's Elastic Fabric Adapters are, or should be. */
#include "probes/node/gpu_view.h"

struct efa {
	struct gpu_view *v;
	const char *instance;		     /* "p5.48xlarge", or NULL: not Amazon's, or not said */
	int expected;			     /* adapters of that type; -1: not in our table */
	size_t cards, unbound;		     /* on the PCI bus; of them without a driver */
	size_t devices;			     /* for programs to use */
	const char *installer;		     /* "1.30.0" of the EFA installer, or NULL */
	const char *fabric, *fabric_version; /* the libfabric that is loaded, or NULL */
	const char *plugin, *plugin_version; /* NCCL's network plug-in that is loaded, or NULL */
	unsigned nccl;			     /* 22005; 0 unknown */
};

struct finding *efa_note(struct efa *e, const char *check, const char *subject);
/* What only this host shows is a warning, until it was named for a job of several. */
enum status efa_grave(const struct efa *e);
void efa_stack(struct efa *e);
void efa_settings(struct efa *e);

/* "1.18.1amzn1.0" against 1, 18: below 0, 0, above 0 by major and minor alone; unknown is 0. */
int efa_compare(const char *version, unsigned major, unsigned minor);

#endif
