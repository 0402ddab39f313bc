#ifndef BENCH_PLUGIN_NCCL_CUDA_H
#define BENCH_PLUGIN_NCCL_CUDA_H
/* A GPU's memory as bench/dev wants it, and the stream that everything runs on. */
#include "bench/plugin/nccl/vendor.h"

struct gpu_piece {
	char *p;
	size_t n;
	void *registered; /* NCCL's handle; NULL: it is not */
};
enum { GPU_PIECES = 16 };

struct gpu_dev {
	struct dev dev;
	struct vendor vendor;
	char name[64], uuid[64];
	int number;	    /* of the GPU, among those that are visible */
	bool shared;	    /* with another rank of this host */
	unsigned registers; /* as comm_world has it: then memory is NCCL's */
	CUcontext context;
	CUstream stream;
	CUmodule module;
	CUfunction fill, wrong;
	CUdeviceptr table, count;
	struct gpu_piece pieces[GPU_PIECES];
	struct err failure; /* of what cannot report one itself */
};

int gpu_dev_new(const struct comm_world *w, struct gpu_dev **ret, struct err *e) MUST_CHECK;
void gpu_dev_free(struct gpu_dev *g);
static inline struct gpu_dev *gpu_of(struct dev *d) { return CONTAINER_OF(d, struct gpu_dev, dev); }
struct gpu_piece *gpu_piece_at(struct gpu_dev *g, const void *p); /* that begins there, or NULL */
/* Is it memory of this device (else the host's)? */
bool gpu_owns(const struct gpu_dev *g, const void *p);

#endif
