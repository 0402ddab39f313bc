#ifndef BENCH_PLUGIN_CARDS_H
#define BENCH_PLUGIN_CARDS_H
/*
 * What every plug-in's ranks tell each other before the vendor's library is
 * asked for anything: who they are and which version of it they loaded. Ranks
 * that do not fit together are found here, where they can be named; the
 * libraries themselves would hang.
 */
#include "bench/comm/backend.h"
#include "bench/comm/place.h"

struct card { /* travels as it is: fixed sizes only */
	struct comm_place place;
	char address[64], device[64];
	char bus[16]; /* of a GPU: comm_peer has both */
	int32_t gpu;
	char version[64];  /* of the library: has to be equal everywhere */
	char unique[64];   /* has to differ everywhere; empty: need not */
	uint64_t settings; /* a digest of what else is to be equal; the plug-in says where not */
	char trouble[160]; /* why this rank cannot go on; empty: it can */
};

struct cards {
	struct card *all;	 /* by rank */
	struct comm_peer *peers; /* into all[] */
	int rank, size;
};

/* Fills place and address; the rest is the plug-in's. */
struct card card_of(const struct comm_world *w);
/*
 * Collective. -1 when the exchange failed, when a rank has trouble, or when
 * versions differ; *ret_culprit as comm_new() has it. @library: "NCCL".
 */
int cards_exchange(struct cards *c, const struct comm_world *w, const struct card *own,
		   const char *library, int *ret_culprit, struct err *e) MUST_CHECK;
/* "rank 3 (node1, 10.0.0.2)" */
const char *cards_name(const struct cards *c, int rank, char *buf, size_t n);
/*
 * Which ranks are on one GPU: by @unique, or by machine and PCI address, since parts of one (MIG)
 * have names of their own, and libraries go by the whole. A rank of a lower number; -1: none.
 */
int cards_twin(const struct cards *c, int rank);
/* How many: at least itself. Of these, those that have its memory, too. */
unsigned cards_sharers(const struct cards *c, int rank);
unsigned cards_in_memory(const struct cards *c, int rank);
void cards_done(struct cards *c);

/* comm_plugin.failed_check, for all of them: a failure that is the cluster's sets it. */
extern const char *plugin_check;
const char *plugin_failed_check(void);

#endif
