#ifndef BENCH_TRAIN_SHARDS_H
#define BENCH_TRAIN_SHARDS_H
/*
 * Fully sharded parameters: each rank keeps its part of every layer and of the
 * optimiser's state. A layer is gathered when forward or backward comes to it and
 * forgotten afterwards (its place is filled with NaN, so that a stale value could
 * not go unseen); its gradients are averaged and scattered, and each rank updates
 * its own part.
 */
#include "bench/comm/comm.h"
#include "bench/train/net.h"

struct shards {
	struct comm *comm;
	struct net *net;
	float *params, *grads, *velocity; /* its own */
	float *wide;			  /* one layer, padded to what the ranks can share */
	size_t first[NET_PARTS_MAX + 1];
	int held; /* the layer that is whole just now; -1: none */
	uint64_t spent_ns;
	struct err *e; /* of the hook */
};

int shards_new(struct shards *s, struct comm *c, struct net *n, struct err *e) MUST_CHECK;
void shards_done(struct shards *s);
void shards_take(struct shards *s); /* begins anew with the net's parameters */
/* The net's hook: makes @layer whole. */
int shards_hold(void *shards, int layer);
int shards_gather(struct shards *s) MUST_CHECK; /* all of them, to be looked at */
int shards_reduce(struct shards *s, int layer) MUST_CHECK;
void shards_update(struct shards *s, float lr, float momentum, float decay);

#endif
