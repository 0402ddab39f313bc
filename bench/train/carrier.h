#ifndef BENCH_TRAIN_CARRIER_H
#define BENCH_TRAIN_CARRIER_H
/*
 * Who carries the gradients: from --backend's word to a communicator whose requests
 * move on while a rank computes. Ranks that cannot have it, or were told of another
 * one, are found before the library that would wait for them is asked for anything.
 */
#include "bench/comm/backend.h"
#include "lib/cluster/launch.h"

struct carrier {
	const struct comm_plugin *plugin;
	struct comm_world world;
	struct dev *dev;
	struct comm *comm;
	/* NCCL carries gradients alone, in the GPUs' memory; what else ranks tell each
	 * other goes by comm, over TCP. NULL: there is none */
	const struct comm_plugin *gpu_plugin;
	struct dev *gpu_dev;
	struct comm *gpu_comm;
	const char **interfaces; /* that have the ranks' addresses; NULL: loopback, or unknown */
	const char *note, *fix;	 /* gradients of GPUs that NCCL did not carry: why; NULL */
	const char *check;	 /* what a failure is about: a finding's id; NULL: a rank */
	bool all_know;		 /* every rank found the same: no news can explain it better */
	bool lacks_address;	 /* this rank alone, before it asked any other for anything */
};

/* In the process that starts ranks on this machine, which need what is here. */
int carrier_check(const char *backend, struct arena *a, struct err *e) MUST_CHECK;
struct carrier_want {
	const char *backend;
	bool on_gpu; /* gradients can stay in GPUs' memory: "auto" is NCCL where all have it */
	uint64_t deadline_ns;
	bool deadline_given;
};
/*
 * Collective. ERR_ABSENT and ERR_USAGE, the same on all ranks, where one of them has not
 * got it; *ret_culprit: the rank at fault for other failures, else -1.
 */
int carrier_connect(struct carrier *c, const struct carrier_want *want, struct world_run *w,
		    struct arena *a, int *ret_culprit, struct err *e) MUST_CHECK;
bool carrier_is_tcp(const struct carrier *c); /* which knows whom it waits for */
/* Is it that what has failed, and not this rank for a reason of its own? Then @check is known. */
bool carrier_has_failed(struct carrier *c);
/* As far as anybody knows all ranks live, and no data arrives. */
#define CARRIER_STANDS_STILL "comm.progress"
bool carrier_stands_still(const struct carrier *c);
/* It is not needed any more, and the others may not come to its end. */
void carrier_give_up(struct carrier *c);
void carrier_free(struct carrier *c);

#endif
