#ifndef LIB_HOST_CUDA_H
#define LIB_HOST_CUDA_H
/*
 * Does CUDA start here, and with how many GPUs? The driver alone is asked (libcuda.so.1, which
 * knows CUDA_VISIBLE_DEVICES): no header of CUDA, and no context on any GPU.
 */
#include "lib/core/aside.h"

enum { CUDA_NOT_READY = 802 }; /* CUresult: the fabric of NVSwitches does not stand */

struct cuda_answer { /* travels out of a child as it is */
	int n;
	bool has_driver, is_sick;
	int error;	/* CUresult of a sick one */
	char text[160]; /* likewise */
	char fix[360];	/* what helps then: lib/host/cuda_start.h */
};

/* In this process. @library: NULL for the driver's. */
void cuda_ask(const char *library, struct cuda_answer *ret);
/* In a child. Of any other end than ASIDE_DONE @ret says that it died. */
enum aside_end cuda_ask_aside(const char *library, uint64_t deadline_ns, struct cuda_answer *ret);

#endif
