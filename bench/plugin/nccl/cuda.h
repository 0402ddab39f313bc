#ifndef BENCH_PLUGIN_NCCL_CUDA_H
#define BENCH_PLUGIN_NCCL_CUDA_H
/*
 * A GPU's memory as bench/dev wants it, and the stream that everything runs on: also
 * what is copied and set, since the stream waits for no other one.
 */
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
	char bus[16];	    /* "0000:53:00"; empty: not known */
	int number;	    /* of the GPU, among those that are visible */
	int capability;	    /* 90 is 9.0 */
	unsigned sharers;   /* ranks that use this GPU: known once they have met */
	unsigned in_memory; /* of these, those that are in the same part of it */
	unsigned registers; /* as comm_world has it: then memory is NCCL's */
	uint64_t deadline_ns;
	CUcontext context;
	CUstream stream;
	CUmodule module;
	CUfunction fill, wrong;
	CUdeviceptr table, count;
	CUevent marks[DEV_MARKS];
	struct gpu_piece pieces[GPU_PIECES];
	struct err failure; /* of what cannot report one itself */
};

int gpu_dev_new(const struct comm_world *w, struct gpu_dev **ret, struct err *e) MUST_CHECK;
void gpu_dev_free(struct gpu_dev *g);
static inline struct gpu_dev *gpu_of(struct dev *d) { return CONTAINER_OF(d, struct gpu_dev, dev); }
static inline CUdeviceptr gpu_at(const void *p) { return (CUdeviceptr)(uintptr_t)p; }
struct gpu_piece *gpu_piece_at(struct gpu_dev *g, const void *p); /* that begins there, or NULL */
/* Is it memory of this device (else the host's)? */
bool gpu_owns(const struct gpu_dev *g, const void *p);
/* On the stream; both wait until it is done, but not longer than the deadline. */
CUresult gpu_send(struct gpu_dev *g, CUdeviceptr to, const void *from, size_t n);
CUresult gpu_fetch(struct gpu_dev *g, void *to, CUdeviceptr from, size_t n);
/* Until all that is on the stream is done; of what is not by then the GPU is lost. */
CUresult gpu_drain(struct gpu_dev *g, uint64_t within_ns);
/* Keeps the first failure of what cannot report one itself. */
void gpu_note(struct gpu_dev *g, const char *what, CUresult r);

/* --- pattern.c: filling and comparing by kernels --- */
int gpu_load_kernels(struct gpu_dev *g, struct err *e) MUST_CHECK;
void gpu_clear(struct dev *d, void *p, size_t n);
void gpu_fill(struct dev *d, void *p, const struct pattern *pattern, size_t from, size_t n);
size_t gpu_wrong(struct dev *d, const void *p, const struct pattern *pattern, size_t from,
		 size_t n);

#endif
