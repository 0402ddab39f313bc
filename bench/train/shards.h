#ifndef BENCH_TRAIN_SHARDS_H
#define BENCH_TRAIN_SHARDS_H
/*
 * Fully sharded parameters: each rank keeps its part of every layer and of the
 * optimiser's state. A layer is gathered when forward or backward comes to it and
 * forgotten afterwards (its place is filled with NaN, so that a stale value could
 * not go unseen); its gradients are averaged and scattered, and each rank updates
 * its own part.
 *
 * While a layer is computed, the next one is on its way, and so are the gradients of
 * the one before. An engine that runs a graph as one needs all of it at once: there
 * only the gradients travel meanwhile. Whose library has no reduce_scatter, gets it
 * by an all_reduce of which every rank keeps its part.
 *
 *	shards_begin(), forward, backward with shards_reduce() for each layer, shards_end(),
 *	shards_update()
 */
#include "bench/comm/comm.h"
#include "bench/train/net.h"

struct shards {
	struct comm *comm;
	struct net *net;
	float *params, *grads, *velocity; /* its own */
	float *wide;			  /* all layers, padded to what the ranks can share */
	size_t first[NET_PARTS_MAX + 1];  /* of its own part; in wide times the ranks */
	int held;			  /* the layer that is whole just now; -1: none */
	int coming;	   /* the layer that is being gathered in advance; -1: none */
	int leaving;	   /* whose gradients are to be reduced next; -1: nobody's */
	bool is_whole;	   /* all are, to be looked at, or for an engine */
	bool late;	   /* nothing in advance: to see what that is worth */
	uint64_t spent_ns; /* inside the communicator: exposed */
	struct err *e;	   /* of the hook */
};

int shards_new(struct shards *s, struct comm *c, struct net *n, struct err *e) MUST_CHECK;
void shards_done(struct shards *s);
void shards_take(struct shards *s); /* begins anew with the net's parameters */
/* Goes on with what it had of its own: @params, @velocity. */
void shards_resume(struct shards *s, const float *params, const float *velocity);
int shards_begin(struct shards *s) MUST_CHECK; /* a step: what is needed first is on its way */
/* The net's hook: makes @layer whole. */
int shards_hold(void *shards, int layer);
int shards_gather(struct shards *s) MUST_CHECK;		   /* all of them, until the next begin */
int shards_reduce(struct shards *s, int layer) MUST_CHECK; /* -1: just a turn */
int shards_end(struct shards *s) MUST_CHECK;
void shards_update(struct shards *s, struct sgd step);

#endif
