#ifndef BENCH_TRAIN_WHO_H
#define BENCH_TRAIN_WHO_H
/* The ranks that took part, still known when their communicator is gone. */
#include "bench/train/door.h"

struct carrier;
struct comm;

struct who_peer {
	const char *host, *address, *device;
	const char *at; /* what leads to its host: the name, or, where others share it, the address
			 */
	const char *interface; /* that has its address; NULL: loopback, or unknown */
	const char *gpu;       /* that it trains on: "GPU 0"; NULL: none, or unknown */
};
struct who {
	int size, hosts;			   /* size 0: they were never connected */
	const char *backend, *transport, *carrier; /* "gloo", what it says of itself, "Gloo" */
	const char *note, *fix;			   /* why it was not NCCL, between GPUs; NULL */
	bool scatters;				   /* it has a reduce_scatter */
	const char *interface; /* that has rank 0's address; NULL: loopback, or unknown */
	struct who_peer *peers;
	struct door door; /* for the job that comes next */
};
struct who who_of_comm(const struct comm *c, struct arena *a); /* @c may be NULL */
void who_tell_apart(struct who *w, struct arena *a); /* finds @at of its peers, and @hosts */

/* @on_gpu: each told the others which GPU it has. */
struct who who_trained(const struct carrier *c, struct rdzv *z, bool on_gpu, struct arena *a);

/* Those that have met, and may not have come to a communicator. */
struct who who_met(const struct carrier *c, struct rdzv *z, struct arena *a);

#endif
