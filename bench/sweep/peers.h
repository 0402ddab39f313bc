#ifndef BENCH_SWEEP_PEERS_H
#define BENCH_SWEEP_PEERS_H
/*
 * What others measured between many that should be alike: GPUs and their host, GPUs and each
 * other (nvbandwidth), nodes (SuperBench). They are held against what the hardware gives, where
 * that is known, and against each other: who stands out is named.
 */
#include "bench/sweep/saved.h"

#include <cjson/cJSON.h>

enum peers_kind {
	PEERS_HOST,   /* a GPU and its host's memory */
	PEERS_SHARED, /* the same by all GPUs at once: they share what leads there */
	PEERS_GPUS,   /* two GPUs */
	PEERS_TOTAL,  /* a GPU and all others at once */
	PEERS_MEMORY, /* inside a GPU */
	PEERS_NODES,  /* a collective, on each node by itself */
};
struct peers {
	enum peers_kind kind;
	const char *test;	  /* "host_to_device_memcpy_ce", "nccl-bw:default/allreduce" */
	const char *gpu;	  /* "NVIDIA H100 80GB HBM3"; NULL: it does not say */
	bool both_ways;		  /* something ran the other way meanwhile */
	int rows, cols;		  /* of PEERS_GPUS square, else one row */
	const double *gbps;	  /* GB/s, [row * cols + col]; NAN: not measured */
	const char *const *names; /* of columns: "GPU 3", "node7" */
	double bytes;		  /* of PEERS_NODES: the size that this is of */
	const char *failure;	  /* what did not end well; NULL */
	str_list others;	  /* the same of benchmarks that left no figures */
	size_t unread;		  /* lines of the file that could not be read */
};

/* Adds a test with one point, the best. NULL values: none. */
void peers_add(const struct peers *p, struct arena *a, saved_list *ret);
/* Of nvbandwidth 0.2 to 0.8: adds what @text has of it. False: nothing. */
bool peers_nvbandwidth(const char *text, struct arena *a, saved_list *ret);
/* The same of its -j; false: it is something else. */
bool peers_nvbandwidth_json(const cJSON *doc, struct arena *a, saved_list *ret);
/* SuperBench's results-summary.jsonl, a node a line, or one node's .json; false: it is not. */
bool peers_superbench(const char *text, size_t n, struct arena *a, saved_list *ret);
void peers_judge(const struct peers *p, const char *subject, const struct saved_opts *o,
		 struct report *r);

#endif
