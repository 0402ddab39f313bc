#ifndef PLUGINS_CUDNN_GPU_H
#define PLUGINS_CUDNN_GPU_H
/*
 * The GPU that this process trains on, the libraries that were found for it, and the
 * stream that everything runs on. One per process: gpu_open() makes it, nothing ends it
 * (the primary context goes with the process: NCCL's may be in it).
 *
 * Calls of the vendor's are written in the ordinary way against their headers; the symbols
 * are bound at the first call, to what libraries_load() made visible.
 */
#include "bench/plugin/cuda/driver.h"
#include "bench/train/engine.h"

#include <cublas_v2.h>
#include <cudnn.h>

struct libraries {
	char cudnn_path[256], cublas_path[256];
	int cudnn, cublas; /* 91900; 130002 */
	int cuda;	   /* cuDNN's: 13 */
	struct driver driver;
};
/* ERR_ABSENT: which of them is not here, and what brings it. */
int libraries_load(struct libraries *ret, struct err *e) MUST_CHECK;
/* What cuDNN compiles convolutions with, and looks for on the loader's path alone. Once. */
void libraries_load_compiler(const struct libraries *l);

struct gpu {
	struct libraries libs;
	char name[64];
	int number;
	enum engine_precision precision;
	bool tf32;
	const char *failed_check; /* the first */
	bool is_lost; /* it has not ended its work in time: what frees memory would wait for that */
	float scale;  /* of the loss, for 16 bit types */
	uint64_t deadline_ns;
	CUcontext context;
	CUstream stream, copies; /* @copies: gradients on their way to the host */
	CUevent mark;
	CUmodule module;
	cudnnHandle_t cudnn;
	cublasHandle_t cublas;
	CUdeviceptr cublas_space, found; /* @found: of find_strange */
};
extern struct gpu gpu;

int gpu_open(const struct engine_opts *o, char *ret, size_t n, struct err *e) MUST_CHECK;
static inline bool gpu_is_16(void) { return gpu.precision != ENGINE_FLOAT32; }
static inline size_t gpu_type_size(void) { return gpu_is_16() ? 2 : 4; }

/* What is in the GPU's memory is written as a pointer everywhere. */
static inline CUdeviceptr gpu_at(const void *p) { return (CUdeviceptr)(uintptr_t)p; }
int gpu_alloc(size_t bytes, void **ret, struct err *e) MUST_CHECK; /* zeroed */
void gpu_free(void *p);						   /* may be NULL */
/* In the host's memory, where the GPU reaches it without a detour. */
int gpu_alloc_host(size_t bytes, void **ret, struct err *e) MUST_CHECK;
void gpu_free_host(void *p);
/* On the way when they return: as other work on a stream; the first on the engine's own. */
int gpu_send(void *to, const void *from, size_t bytes, struct err *e);
int gpu_fetch(void *to, const void *from, size_t bytes, CUstream s, struct err *e);

int gpu_failed(const char *what, CUresult r, struct err *e);
void gpu_look(void); /* a library's call failed: is it the GPU that is sick? */
/* "CUDNN_STATUS_NOT_INITIALIZED: no driver", of the call before. */
const char *gpu_dnn_words(cudnnStatus_t st, char *buf, size_t n);
/* Until a stream (or an event, not NULL) is done, but not longer than the deadline. */
int gpu_wait(CUstream s, CUevent ev, const char *what, struct err *e);
int gpu_current(struct err *e) MUST_CHECK; /* of any thread that calls */

/* A kernel by its whole name, for @n pieces of work: gpu_launch(e, "sgd", n, (void *[]){&a, &b}) */
int gpu_launch(struct err *e, const char *name, uint32_t n, void **args);
#define GPU_ARGS(...) ((void *[]){__VA_ARGS__})

#endif
