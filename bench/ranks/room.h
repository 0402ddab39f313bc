#ifndef BENCH_RANKS_ROOM_H
#define BENCH_RANKS_ROOM_H
/*
 * How many ranks this machine carries: what limits them, said before they are started where
 * it can be known, and not as a rank that did not answer. UINT64_MAX: no limit is known.
 *
 *	room_read(&here);
 *	room_check(&here, &(struct room_need){.ranks = 600, .links = 2}, e)
 *
 * What is known only when it happens (another user's processes) the kernel says then.
 */
#include "lib/core/err.h"

struct room {
	unsigned processors; /* that this process may use; at least one */
	uint64_t files;	     /* that a process may have open */
	uint64_t processes;  /* that may still be started, for the control groups around us */
	uint64_t of_user;    /* that this user may have, those that are there counted (ulimit -u) */
	uint64_t bytes;	     /* of memory that may still be taken */
};
struct room_need {
	uint64_t ranks;
	unsigned links; /* TCP connections between any two of them; 0: we make none */
	unsigned each;	/* of them for one of --np; 0: one */
};

void room_read(struct room *ret);
/* Pure. ERR_SYS: they cannot all live here; the sentence says why and how many can. */
int room_check(const struct room *r, const struct room_need *need, struct err *e) MUST_CHECK;
/*
 * Pure. So many times longer than usual may anything take while @ranks share the processors;
 * 1: there are enough, or nearly.
 */
unsigned room_patience(const struct room *r, uint64_t ranks);

#endif
