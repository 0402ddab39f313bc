#ifndef BENCH_TRAIN_DOOR_H
#define BENCH_TRAIN_DOOR_H
/*
 * MASTER_PORT of the job that comes next. It is not enough that rank 0's host has one free: where
 * a firewall opens but some ports, the other hosts do not reach it, and the job waits for ever.
 */
#include "lib/cluster/rendezvous.h"

struct who;

struct door {
	uint16_t port; /* that rank 0's host has free; 0: none */
	bool tried;    /* by ranks on other hosts; what came of it: */
	int shut;      /* the first that does not reach it; -1: all do */
	int state;     /* enum tcp_state, of that one */
};

/* Collective, after the last step; asks nothing where all ranks are on one host. */
void door_try(struct rdzv *z, const struct who *w, struct arena *a, struct door *ret);

#endif
