#ifndef LIB_HOST_BURST_H
#define LIB_HOST_BURST_H
/*
 * What the plug-in burst.so exports as windsock_burst: a second or so of work
 * on each GPU, measured. It is called in a child process: a sick GPU may hang
 * or crash any of its calls. A measurement that failed is NAN, with @error.
 */
#include "lib/core/err.h"

enum { BURST_VERSION = 2 };

struct burst {
	int number;		/* of the GPU, as CUDA counts those that it may use */
	char name[96], pci[32]; /* "0000:3b:00.0" */
	char how[48];		/* what multiplied: "cuBLAS bf16", "fp32" */
	double matmul_tflops;
	double memory_gbps;		   /* reading and writing its own memory */
	double to_gpu_gbps, from_gpu_gbps; /* pinned memory of the host */
	int64_t wrong;			   /* elements of the product; -1: not looked at */
	int64_t copied_wrong;		   /* words, of those that came back; likewise */
	char error[160];		   /* "": none */
};

enum burst_moment {
	BURST_BEGINS,	/* name and pci are known */
	BURST_READY,	/* it is open and has all its code: from now on it only works */
	BURST_COMPUTES, /* the product is being computed from now on, for most of a second */
	BURST_COPIES,	/* copies run from now on */
	BURST_DONE,
};

struct burst_ask {
	int first; /* GPUs before it are left out */
	bool (*wanted)(void *arg, const char *pci);
	void (*tell)(void *arg, enum burst_moment m, const struct burst *b);
	/* What is told of @m was looked at, and the load may end. */
	bool (*is_seen)(void *arg, enum burst_moment m);
	void *arg;
};

struct burst_plugin {
	unsigned version;
	int (*run)(const struct burst_ask *ask,
		   struct err *e); /* 0, or -1: no GPU could be asked */
};

#endif
