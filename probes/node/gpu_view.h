#ifndef PROBES_NODE_GPU_VIEW_H
#define PROBES_NODE_GPU_VIEW_H
/*
 * The parts of the gpus stage: what the PCI tree, the driver's library, the
 * kernel's log and the EFA stack say about what trains here. Each part adds
 * findings; nothing is added where there is nothing to look at.
 */
#include "lib/host/gpu.h"
#include "lib/host/nvml.h"
#include "lib/host/rdma.h"
#include "probes/node/node.h"

struct cuda_answer;

struct gpu_view {
	const struct node_look *look;
	struct arena *a;
	gpu_list pci;	 /* GPUs of all vendors */
	size_t nvidia;	 /* of these NVIDIA's */
	size_t for_cuda; /* of those, as gpu_is_for_cuda() has it */
	rdma_list rdma;
	struct nvml nvml;
	struct cuda_answer *cuda; /* NULL: was not asked */
	cJSON *data;		  /* data.host; NULL: nobody reads it */
	cJSON *facts;	      /* data.host.facts: what is compared between hosts; NULL likewise */
	const char *absent;   /* as node_look's */
	const char *confined; /* "container", "Slurm job": not all GPUs need be ours; or NULL */
};

struct finding *gpu_note(struct gpu_view *v, const char *check, const char *subject);
/* What a job needs is not on this host. In a container others are to decide what it is given. */
void gpu_absent(struct gpu_view *v, const char *what);
/* Its driver has it, or none has it though that drives others of its kind. Who bound another driver
 * (for a virtual machine), or left an old card without, misses nothing. */
bool gpu_is_for_cuda(const struct gpu_view *v, const struct gpu *g);
/* "GPU 3 (0000:3b:00.0)" */
const char *gpu_subject(struct gpu_view *v, const struct nvml_gpu *g);
/* "8 GPUs" */
const char *gpu_all(struct gpu_view *v);

/* A check of every GPU: one finding for each that is not fine, else one that all are. */
struct gpu_check {
	const char *id;
	bool (*known)(const struct nvml_gpu *g);
	bool (*judge)(struct gpu_view *v,
		      const struct nvml_gpu *g); /* true: it has said something */
	const char *fine;
};
void gpu_each(struct gpu_view *v, const struct gpu_check *checks, size_t n);
/* What more than half of the GPUs have; NULL: no such value. */
typedef const char *gpu_trait(struct arena *a, const struct nvml_gpu *g);
const char *gpu_usual(struct gpu_view *v, gpu_trait *trait, size_t *ret_n);

void gpu_answer(struct gpu_view *v);
void gpu_versions(struct gpu_view *v);
void gpu_health(struct gpu_view *v);
void gpu_use(struct gpu_view *v);
void gpu_links(struct gpu_view *v);
/* CUDA has worked on it: what NVML says of its registration is then no failure. */
void gpu_links_worked(struct gpu_view *v, const struct nvml_gpu *g);
void gpu_services(struct gpu_view *v);
void gpu_data(struct gpu_view *v);
void gpu_burst(struct gpu_view *v);
void pcie_links(struct gpu_view *v);
void pcie_ways(struct gpu_view *v);
void xid_look(struct gpu_view *v);
void efa_look(struct gpu_view *v);

#endif
