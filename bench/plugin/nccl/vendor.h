#ifndef BENCH_PLUGIN_NCCL_VENDOR_H
#define BENCH_PLUGIN_NCCL_VENDOR_H
/*
 * The driver and NCCL, found and loaded: the NCCL that PyTorch would use here. Calls
 * are written in the ordinary way against their headers; the symbols are bound at the
 * first call, to what vendor_load() made visible. What is needed is checked before
 * anything is called.
 */
#include "bench/comm/backend.h"
#include "bench/plugin/cuda/driver.h"

#include <nccl.h>

struct vendor {
	char nccl_path[256];
	int nccl; /* 22809 */
	struct driver driver;
};

/* Loads libnccl only: needs no driver. */
int vendor_find_nccl(const char *given, struct vendor *ret, struct err *e) MUST_CHECK;
/* And the driver. ERR_ABSENT with the reason where there is none, or no GPU. */
int vendor_load(const char *given, struct vendor *ret, struct err *e) MUST_CHECK;
/* "NCCL 2.28.9 (/usr/lib/libnccl.so.2), CUDA driver 13.0, 8 GPUs" */
void vendor_describe(const struct vendor *v, char *ret, size_t n);
/* "2.28.9" */
void vendor_version(int code, char *ret, size_t n);

/* -1 and "cuMemAlloc: out of memory". */
int cuda_failed(const char *what, CUresult r, struct err *e);
/* -1; of a failure of the GPU at work: which check it is of, and what to do. */
int cuda_blames(CUresult r, struct err *e);

#endif
