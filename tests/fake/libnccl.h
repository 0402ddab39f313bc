#ifndef TESTS_FAKE_LIBNCCL_H
#define TESTS_FAKE_LIBNCCL_H
/* Shared by the two files of the stand-in for NCCL. */
#include "lib/core/base.h"

#include <nccl.h>
#include <sys/mman.h>

enum { RANKS = 8, SLOT = 64 << 20 /* sparse */ };

struct ncclComm {
	int rank, size, operations;
	unsigned round; /* of the barrier */
	struct shared {
		unsigned arrived;
		char slots[RANKS][SLOT];
	} * shared;
	char path[160];
	/* ncclCommSplit: the new one is known when its parent has been asked twice */
	int splits, splitting;
	struct ncclComm *part, **part_to;
	int finalizing; /* likewise; 1: finalized */
	bool is_part;
};

bool fake_mode(const char *name);
void fake_meet(struct ncclComm *c);
bool fake_join(struct ncclComm *c, const char *path, int size, int rank);
void fake_split_goes_on(struct ncclComm *c);

#endif
