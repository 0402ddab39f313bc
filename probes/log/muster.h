#ifndef PROBES_LOG_MUSTER_H
#define PROBES_LOG_MUSTER_H
/*
 * Who announced itself of a number that was promised: "MEMBER: 1/8" is one of
 * eight. What nobody else says is then known: the others were never started.
 */
#include "lib/core/base.h"

/* Who counts: the members of Lightning, the processes of accelerate, the nodes of
 * DeepSpeed's launcher and of torchrun. */
enum muster_kind { MEMBERS, PROCESSES, LAUNCHERS, AGENTS, MUSTER_KINDS };

enum { MUSTER_MAX = 1024 /* of more it is not told who they are */ };

struct muster {
	long total;	  /* 0: nobody said it */
	long present;	  /* different ones */
	bool is_complete; /* it was said that all came */
	uint64_t seen[MUSTER_MAX / 64];
};

/* @which of @total, from 0, is there. */
void muster_note(struct muster *m, long which, long total);
/* Some are missing, and nobody said that all came. */
bool muster_lacks(const struct muster *m);
/* Those that are there are just those of one node of several: it may be that node's log. */
bool muster_is_one_node(const struct muster *m);

#endif
