#ifndef PROBES_NODE_GPU_BURST_H
#define PROBES_NODE_GPU_BURST_H
/* What a burst measured on each GPU, and what was seen of it meanwhile. */
#include "lib/host/burst.h"
#include "lib/host/pcie.h"
#include "probes/node/gpu_view.h"

struct burst_seen {
	struct burst b;
	const char *trouble;   /* it hung, or crashed; NULL: no */
	struct nvml_load load; /* while it computes */
	struct pcie_link link; /* during copies */
};
typedef LIST(struct burst_seen) burst_list;

/* Why this GPU is left alone, or NULL. */
const char *burst_obstacle(const struct nvml_gpu *g);
void burst_judge(struct gpu_view *v, const burst_list *all);

#endif
