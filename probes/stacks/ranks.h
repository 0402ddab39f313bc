#ifndef PROBES_STACKS_RANKS_H
#define PROBES_STACKS_RANKS_H
/*
 * Which processes of this host are ranks of a job: those that a launcher gave
 * a rank (lib/cluster/world.h) and that are Python, the innermost launcher's;
 * what they started themselves, DataLoaders' workers, are theirs. Beside these:
 * an engine's workers, by the titles that they gave themselves (titled.h), and
 * children that torch.multiprocessing spawned, which got theirs as an argument
 * that nobody else sees, in the order of their numbers (spawned.h).
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#include <sys/types.h>

struct processes;

struct rank_process {
	pid_t pid;
	const char *job;
	int rank, size, local_size; /* -1 unknown */
	int present;		    /* of its job on this host, whichever were asked for */
	bool is_guessed;
	pid_t *workers;
	size_t n_workers;
};
struct rank_processes {
	struct rank_process *v;
	size_t n;
	size_t foreign;	  /* processes that may be ranks, of users whose we may not see */
	size_t no_python; /* that have a rank, and none of whose processes is Python */
};

/* Is the job's master on loopback? Then other hosts may have one that is called alike. */
bool job_is_at_home(const char *job);

/* Is it one of them, or did one of them start it? */
bool ranks_have(const struct rank_processes *r, const struct processes *all, pid_t pid);
/* To those that were found: more of them. */
void ranks_add(struct rank_processes *r, struct arena *a, const struct rank_process *more,
	       size_t n);

/* @below: only this process and those that it started, the first of which that are Python are taken
 * though they have no rank; 0: all of this host. */
void ranks_find(pid_t below, struct arena *a, struct rank_processes *ret);

#endif
