#ifndef BENCH_DEV_DEV_H
#define BENCH_DEV_DEV_H
/*
 * Where the memory of a measurement lives: the host, or a GPU (a plug-in).
 * Buffers are filled and compared there, by pattern, so that no expected result
 * ever travels to the device.
 */
#include "bench/dev/pattern.h"
#include "lib/core/err.h"

/* The finding that a GPU failed at work that it was given. */
#define DEV_SICK "gpu.work"
/* What to type then. */
#define DEV_SICK_FIX "dmesg | grep -i xid"
/* It is well, and drives a screen: its driver ends kernels that take long, as NCCL's do while the
 * network or a peer is slow. */
#define DEV_WATCHED "gpu.watchdog"
#define DEV_WATCHED_FIX                                                                            \
	"- use another GPU (CUDA_VISIBLE_DEVICES), or end the desktop there: sudo systemctl "      \
	"isolate multi-user.target"

enum { DEV_MARKS = 256 }; /* a stream takes about a thousand entries before it makes one wait */
struct dev {
	const char *kind; /* "host memory", "NVIDIA H200" */
	/* A call was left that may hold the driver's locks, or work that does not end, which frees
	 * would wait for: no other call is made. */
	bool is_lost;
	int (*alloc)(struct dev *d, size_t n, void **ret, struct err *e);
	void (*free)(struct dev *d, void *p);
	void (*clear)(struct dev *d, void *p, size_t n); /* to what no pattern has */
	/* @from: the position of the first element in the pattern. */
	void (*fill)(struct dev *d, void *p, const struct pattern *pattern, size_t from, size_t n);
	/* How many elements are not what they should be, bit by bit. */
	size_t (*wrong)(struct dev *d, const void *p, const struct pattern *pattern, size_t from,
			size_t n);
	/* Waits for everything above. */
	int (*sync)(struct dev *d, struct err *e);
	/* Bytes that this rank may take of it; NULL: it is the host's memory. */
	uint64_t (*available)(struct dev *d);
	/* Of a GPU: the CUstream that the communicator works on; NULL: there are none. */
	void *(*stream)(struct dev *d);
	/*
	 * Where requests queue up on a stream and need not be waited for one by one (else both
	 * are NULL): notes when the stream gets here, and tells the seconds between two of
	 * these, once everything was waited for. @i < DEV_MARKS.
	 */
	int (*mark)(struct dev *d, size_t i, struct err *e);
	int (*between)(struct dev *d, size_t i, size_t j, double *ret_s, struct err *e);
};

extern struct dev dev_host;

#endif
