#ifndef BENCH_TRAIN_OVERLAP_H
#define BENCH_TRAIN_OVERLAP_H
/*
 * Gradients are averaged over all ranks in buckets while backward still runs:
 * a bucket starts as soon as its layers are final, and moves on whenever
 * backward takes a breath.
 */
#include "bench/comm/comm.h"
#include "bench/train/net.h"

struct overlap {
	struct comm *comm;
	struct net *net;
	void *stream; /* of a communicator that reduces them in a GPU's memory; NULL: in ours */
	bool late;    /* the same buckets, but only after backward: to see what hiding is worth */
	size_t open;  /* gradients from here on are under way */
	uint64_t spent_ns; /* inside the communicator: exposed */
};

void overlap_begin(struct overlap *o, size_t extra); /* @extra floats after the gradients, too */
int overlap_layer(struct overlap *o, int layer, struct err *e) MUST_CHECK; /* -1: just a turn */
int overlap_end(struct overlap *o, struct err *e) MUST_CHECK;

#endif
